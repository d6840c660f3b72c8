"""Starts the stores that are compared, each on loopback with a folder of its own."""

import os
import socket
import subprocess
import time

import boto3
import botocore.config

ACCESS_KEY, SECRET_KEY = "comparing", "comparing-secret"
TICKS = os.sysconf("SC_CLK_TCK")


class Store:
    """A running S3 store."""

    def __init__(self, name, command, environment, log):
        self.name = name
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = "127.0.0.1:%d" % free.getsockname()[1]
        command = [word.replace("ADDRESS", address) for word in command]
        self.process = subprocess.Popen(
            command, env={**os.environ, **environment}, stdout=log, stderr=log
        )
        self.client = boto3.client(
            "s3",
            endpoint_url=f"http://{address}",
            region_name="us-east-1",
            aws_access_key_id=ACCESS_KEY,
            aws_secret_access_key=SECRET_KEY,
            config=botocore.config.Config(
                read_timeout=600, retries={"total_max_attempts": 1}, s3={"addressing_style": "path"}
            ),
        )
        self.wait(address)

    def wait(self, address):
        for _ in range(300):
            if self.process.poll() is not None:
                raise SystemExit(f"{self.name} ended before it answered")
            try:
                self.client.list_buckets()
                return
            except Exception:  # not yet listening, or not yet ready
                time.sleep(0.1)
        raise SystemExit(f"{self.name} does not answer at {address}")

    def cpu_seconds(self):
        """User and system time of the process so far."""
        with open(f"/proc/{self.process.pid}/stat") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def select(self, bucket, key, format, expression):
        """The answer's bytes, its first byte to its End event, and the store's own counts."""
        serialization = {
            "csv": {"CSV": {"FileHeaderInfo": "USE"}},
            "csv.gz": {"CSV": {"FileHeaderInfo": "USE"}, "CompressionType": "GZIP"},
            "jsonl": {"JSON": {"Type": "LINES"}},
            "json": {"JSON": {"Type": "DOCUMENT"}},
            "parquet": {"Parquet": {}},
        }[format]
        answer = self.client.select_object_content(
            Bucket=bucket,
            Key=key,
            ExpressionType="SQL",
            Expression=expression,
            InputSerialization=serialization,
            OutputSerialization={"CSV": {}},
        )
        rows, stats, ended = [], {}, False
        for event in answer["Payload"]:
            if "Records" in event:
                rows.append(event["Records"]["Payload"])
            stats = event.get("Stats", {}).get("Details", stats)
            ended |= "End" in event
        if not ended:
            raise RuntimeError("the answer has no end")
        return b"".join(rows), stats

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def sluice(name, binary, folder, log):
    """`sluice serve`, or the server's example, which builds in a fraction of the time."""
    if os.path.basename(binary).startswith("serve"):
        environment = {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY}
        return Store(name, [binary, folder, "ADDRESS"], environment, log)
    environment = {"SLUICE_ACCESS_KEY": ACCESS_KEY, "SLUICE_SECRET_KEY": SECRET_KEY}
    return Store(name, [binary, "serve", "--dir", folder, "--listen", "ADDRESS"], environment, log)


def minio(binary, folder, log):
    environment = {
        "MINIO_ROOT_USER": ACCESS_KEY,
        "MINIO_ROOT_PASSWORD": SECRET_KEY,
        "MINIO_API_SELECT_PARQUET": "on",
        "MINIO_CI_CD": "1",  # a single folder on the root disk will do
        "MINIO_BROWSER": "off",
        "MINIO_UPDATE": "off",
    }
    return Store("MinIO", [binary, "server", folder, "--address", "ADDRESS"], environment, log)
