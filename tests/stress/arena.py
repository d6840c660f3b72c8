"""Where attacks take place: the server that they share, buckets, data, and servers of their own."""

import contextlib
import os
import shutil
import tempfile
import threading
import time

from server import Server, check

ATTACKS = []


def attack(name, alone=False):
    """Registers an attack: a function of an arena that returns its figures. One that is `alone` starts servers of
    its own and is made once, the others are made in every round."""

    def register(function):
        ATTACKS.append((name, alone, function))
        return function

    return register


class Arena:
    def __init__(self, binary, work):
        self.binary, self.work = binary, work
        self.server = Server(binary, os.path.join(work, "shared"), "--client-timeout", "5s")
        self.round, self.buckets = 0, 0

    def client(self, **how):
        return self.server.client(**how)

    def bucket(self):
        """A new bucket: its path."""
        self.buckets += 1
        path = f"/stress-{self.buckets}"
        self.client().put(path)
        return path

    def folder(self, bucket):
        return os.path.join(self.work, "shared", bucket.strip("/"))

    @contextlib.contextmanager
    def own(self, *options, folder=None, **how):
        """A server for one attack."""
        with contextlib.ExitStack() as cleanup:
            if folder is None:
                folder = tempfile.mkdtemp(dir=self.work)
                cleanup.callback(shutil.rmtree, folder, ignore_errors=True)
            server = Server(self.binary, folder, *options, **how)
            try:
                yield server
            finally:
                server.stop()

    def made(self, bucket, key, make):
        """An object that was put into the folder by hand, made once in all rounds."""
        kept = os.path.join(self.work, "made-" + key)
        if not os.path.exists(kept):
            with open(kept + ".part", "wb") as file:
                make(file)
            os.rename(kept + ".part", kept)
        os.link(kept, os.path.join(self.folder(bucket), key))
        return f"{bucket}/{key}"


def rows(count):
    """Makes a CSV object of three columns: a number, a text, a number."""

    def make(file):
        for start in range(0, count, 10_000):
            lines = (f"{n},text of {n},{n % 97}\n" for n in range(start, min(start + 10_000, count)))
            file.write("".join(lines).encode())

    return make


def in_parallel(threads, work):
    """Runs work(0), work(1), … at the same time; raises what one of them raised."""
    failures, results = [], [None] * threads

    def run(n):
        try:
            results[n] = work(n)
        except BaseException as error:
            failures.append(error)

    running = [threading.Thread(target=run, args=(n,), daemon=True) for n in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    if failures:
        raise failures[0]
    return results


def timed(work):
    """The seconds that something takes, and what it returns."""
    start = time.monotonic()
    result = work()
    return time.monotonic() - start, result


def milliseconds(seconds):
    return f"{seconds * 1000:.0f} ms"


def others_are_served(arena, within):
    """What anybody else wants of the server meanwhile: returns how long the slowest of it took."""
    client = arena.client(timeout=within + 30)
    slowest = 0.0
    bucket = arena.bucket()
    for work, expected in [
        (lambda: client.put(f"{bucket}/k", b"1,2\n").status, 200),
        (lambda: client.get(f"{bucket}/k").body, b"1,2\n"),
        (lambda: client.ask("GET", bucket, [("list-type", "2")]).field("KeyCount"), "1"),
        (lambda: client.select(f"{bucket}/k", "SELECT _2 FROM S3Object"), b"2\n"),
    ]:
        seconds, found = timed(work)
        check(found == expected, f"others are answered {found!r}")
        slowest = max(slowest, seconds)
    check(slowest < within, f"others wait for {slowest:.1f} s")
    return slowest


__all__ = ["ATTACKS", "Arena", "attack", "in_parallel", "milliseconds", "others_are_served", "rows", "timed"]

