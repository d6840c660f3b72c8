"""A `sluice serve` of our own, and what it costs."""

import os
import re
import signal
import subprocess
import time

from s3 import ACCESS_KEY, SECRET_KEY, Client

# What a server may hold when nobody wants anything of it, in MiB.
MOST = 100
TICKS = os.sysconf("SC_CLK_TCK")


class Miss(Exception):
    """An attack that was not borne."""


def check(held, what):
    if not held:
        raise Miss(what)


class Server:
    def __init__(self, binary, folder, *options, anonymous=False):
        self.binary, self.folder, self.options = binary, folder, list(options)
        self.anonymous = anonymous
        self.process = None
        os.makedirs(folder, exist_ok=True)
        self.start()

    def start(self):
        environment = {**os.environ, "SLUICE_ACCESS_KEY": ACCESS_KEY, "SLUICE_SECRET_KEY": SECRET_KEY}
        environment.pop("RUST_LOG", None)
        options = [*self.options, *(["--anonymous"] if self.anonymous else [])]
        self.process = subprocess.Popen(
            [self.binary, "serve", "--dir", self.folder, "--listen", "127.0.0.1:0", *options],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        line = self.process.stdout.readline()
        found = re.search(r"http://([\d.]+):(\d+)", line)
        check(found, f"the server does not start: {line}{self.process.stdout.read() if not found else ''}")
        self.address = (found[1], int(found[2]))

    def client(self, **how):
        return Client(self.address, signed=not self.anonymous, **how)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()
                raise Miss("the server does not stop") from None
        if not self.process.stdout.closed:
            said = self.process.stdout.read()
            self.process.stdout.close()
            check("panicked" not in said, f"the server panicked: {said[-2000:]}")

    # What it costs.

    def status(self, field):
        """A field of /proc/PID/status, in MiB."""
        with open(f"/proc/{self.process.pid}/status") as status:
            return int(re.search(rf"{field}:\s*(\d+) kB", status.read())[1]) / 1024

    @property
    def resident(self):
        return self.status("VmRSS")

    @property
    def peak(self):
        return self.status("VmHWM")

    def forget_peak(self):
        with open(f"/proc/{self.process.pid}/clear_refs", "w") as peak:
            peak.write("5")

    @property
    def cpu(self):
        """Seconds of all its threads."""
        with open(f"/proc/{self.process.pid}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    @property
    def files(self):
        """Open files and sockets."""
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    @property
    def sockets(self):
        """Open sockets, the one that it listens on among them."""
        folder, count = f"/proc/{self.process.pid}/fd", 0
        for name in os.listdir(folder):
            try:
                count += os.readlink(f"{folder}/{name}").startswith("socket:")
            except FileNotFoundError:
                pass
        return count

    def settle(self, most, seconds):
        """Waits until it is as small as this; returns how small it is."""
        end = time.monotonic() + seconds
        while self.resident > most and time.monotonic() < end:
            time.sleep(0.2)
        return self.resident
