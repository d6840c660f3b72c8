"""The store in this process, and the pytest fixtures."""

import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import urllib.request
from pathlib import Path

import boto3
import botocore.exceptions
import pytest
import sluicegate


def selected(client, bucket, key, expression):
    answer = client.select_object_content(
        Bucket=bucket,
        Key=key,
        ExpressionType="SQL",
        Expression=expression,
        InputSerialization={"CSV": {"FileHeaderInfo": "USE"}},
        OutputSerialization={"CSV": {}},
    )
    events = list(answer["Payload"])
    assert "End" in events[-1]
    return b"".join(event["Records"]["Payload"] for event in events if "Records" in event)


def test_boto3_selects(sluice_store):
    client = sluice_store.client()
    bucket = sluice_store.bucket()
    client.put_object(Bucket=bucket, Key="a/b.csv", Body=b"name,price\napple,3\npear,4\n")
    rows = selected(client, bucket, "a/b.csv", "SELECT s.name FROM S3Object s WHERE CAST(s.price AS INT) > 3")
    assert rows == b"pear\n"
    assert [each["Name"] for each in client.list_buckets()["Buckets"]] == [bucket]


def test_stores_are_empty_and_separate(sluice_store):
    assert sluice_store.client().list_buckets()["Buckets"] == []
    with sluicegate.serve() as other:
        assert other.endpoint != sluice_store.endpoint and other.path != sluice_store.path
        other.bucket("only-there")
        assert sluice_store.client().list_buckets()["Buckets"] == []


def test_buckets_have_names(sluice_store):
    assert sluice_store.bucket() != sluice_store.bucket()
    assert sluice_store.bucket("mine") == "mine" == sluice_store.bucket("mine")
    for bad in ("a/b", "../x", ".hidden", "ab", "Upper"):
        with pytest.raises(ValueError):
            sluice_store.bucket(bad)


def test_the_environment_is_set(sluice_env):
    assert os.environ["AWS_ENDPOINT_URL"] == sluice_env.endpoint
    boto3.client("s3").create_bucket(Bucket="made")
    (sluice_env.path / "made" / "x.csv").write_text("a\n1\n")
    with sluicegate.connect() as connection:
        assert connection.sql("SELECT a FROM 's3://made/x.csv'").fetchall() == [(1,)]


def test_a_store_leaves_nothing():
    before = set(os.listdir(tempfile.gettempdir()))
    store = sluicegate.serve()
    endpoint, path = store.endpoint, store.path
    assert path.exists() and store.running
    store.stop()
    store.stop()
    assert not path.exists() and not store.running and "stopped" in repr(store)
    with pytest.raises(OSError):
        urllib.request.urlopen(endpoint, timeout=2)
    assert set(os.listdir(tempfile.gettempdir())) == before


def test_a_store_that_nobody_stops_leaves_nothing():
    script = "import sluicegate; store = sluicegate.serve(); print(store.path)"
    path = subprocess.check_output([sys.executable, "-c", script], text=True).strip()
    assert not Path(path).exists()


def test_a_folder_of_ones_own_stays(tmp_path):
    with sluicegate.serve(tmp_path / "store", access_key="me", secret_key="a-secret") as store:
        assert (store.access_key, store.secret_key) == ("me", "a-secret")
        store.client().create_bucket(Bucket="kept")
        with pytest.raises(sluicegate.SettingError):
            sluicegate.serve(tmp_path / "store")
    assert (tmp_path / "store" / "kept").is_dir()


def test_keys_are_needed_unless_the_store_is_anonymous():
    with sluicegate.serve() as store:
        wrong = store.client(aws_access_key_id="x", aws_secret_access_key="y")
        with pytest.raises(botocore.exceptions.ClientError):
            wrong.list_buckets()
    with sluicegate.serve(anonymous=True) as store:
        assert store.client().list_buckets()["Buckets"] == []
        (store.path / store.bucket("bucket") / "x.csv").write_text("a\n1\n")
        with store.connect() as connection:
            assert connection.sql("SELECT a FROM 's3://bucket/x.csv'").fetchall() == [(1,)]


def test_a_store_can_be_without_select():
    with sluicegate.serve(select=False) as store:
        client = store.client()
        client.put_object(Bucket=store.bucket("bucket"), Key="x.csv", Body=b"a\n1\n")
        with pytest.raises(botocore.exceptions.ClientError, match="NotImplemented"):
            selected(client, "bucket", "x.csv", "SELECT * FROM S3Object")


def test_arguments_are_checked(tmp_path):
    before = set(os.listdir(tempfile.gettempdir()))
    for arguments in ({"link": "fast"}, {"latency": "5"}, {"listen": "9000"}):
        with pytest.raises(sluicegate.SettingError, match=next(iter(arguments))):
            sluicegate.serve(**arguments)
    with pytest.raises(ValueError):
        sluicegate.serve(access_key="only")
    assert set(os.listdir(tempfile.gettempdir())) == before


def test_the_plugin_is_found(pytester):
    pytester.makepyfile(
        """
        def test_store(sluice_store):
            with open("path", "w") as file:
                file.write(str(sluice_store.path))
            sluice_store.client().put_object(Bucket=sluice_store.bucket("bucket"), Key="k", Body=b"x")
            assert sluice_store.client().get_object(Bucket="bucket", Key="k")["Body"].read() == b"x"
            assert False, "the store is stopped all the same"
        """
    )
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(failed=1)
    assert not Path((pytester.path / "path").read_text()).exists()


def test_workers_run_parts_of_queries(sluice_store):
    command = [os.path.join(sysconfig.get_path("scripts"), "sluice"), "worker", "--listen", "127.0.0.1:0"]
    environment = {**os.environ, **sluice_store.env}
    rows = "customer,amount\n" + "".join(f"{n % 100},{n}\n" for n in range(300_000))
    (sluice_store.path / sluice_store.bucket("shop") / "orders.csv").write_text(rows)
    workers = [
        subprocess.Popen(
            [*command, "--stop-with-stdin"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    try:
        urls = [re.search(r"http://127\.0\.0\.1:\d+", worker.stdout.readline()).group() for worker in workers]
        with sluice_store.connect(workers=urls) as connection:
            connection.register("customers", {"id": [1, 2], "name": ["Ann", "Bob"]})
            answer = connection.sql("SELECT count(*), sum(amount) FROM 's3://shop/orders.csv'")
            assert answer.fetchall() == [(300_000, 44_999_850_000)]
            answer = connection.sql(
                "SELECT name, count(*) FROM 's3://shop/orders.csv' JOIN customers ON customer = id GROUP BY 1 ORDER BY 1"
            )
            assert answer.fetchall() == [("Ann", 3000), ("Bob", 3000)]
    finally:
        for worker in workers:
            worker.communicate(timeout=20)
