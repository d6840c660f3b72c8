"""GET and PUT of a whole object over one connection, beside `cp` of the same file.

The client is a socket that is read a MiB at a time, and written from the file by the kernel. (curl writes a file in pieces
of 16 KiB, which takes it longer than any store needs.)
"""

import os
import socket
import statistics
import subprocess
import time
from urllib.parse import urlsplit

BUCKET, KEY = "whole-objects", "object"
PIECE = 1 << 20


def request(method, url, headers=()):
    """Sends the head of a request; the connection."""
    place = urlsplit(url)
    lines = [f"{method} {place.path}?{place.query} HTTP/1.1", f"Host: {place.netloc}", "Connection: close", *headers]
    connection = socket.create_connection((place.hostname, place.port))
    connection.sendall("".join(f"{line}\r\n" for line in [*lines, ""]).encode())
    return connection


def answer(connection, piece):
    """Reads the head of an answer, of which it must be a good one, into a piece; what the piece has of the body."""
    filled = 0
    while (end := piece.find(b"\r\n\r\n", 0, filled)) < 0:
        read = connection.recv_into(memoryview(piece)[filled:])
        assert read, "the answer ended early"
        filled += read
    head = piece[:end].split(b"\r\n")
    assert b" 200 " in head[0], piece[:filled]
    return memoryview(piece)[end + 4 : filled]


def get(url, path, size):
    piece = bytearray(PIECE)
    with request("GET", url) as connection, open(path, "wb", buffering=0) as file:
        part = answer(connection, piece)
        while True:
            size -= file.write(part)
            read = connection.recv_into(piece)
            if not read:
                break
            part = memoryview(piece)[:read]
    assert size == 0, "the answer has another length"


def put(url, path, size):
    with request("PUT", url, [f"Content-Length: {size}"]) as connection, open(path, "rb") as file:
        assert connection.sendfile(file) == size
        answer(connection, bytearray(PIECE))


def timed(store, action, repeat):
    """Median wall seconds of what is done, and CPU seconds of the store meanwhile."""
    wall, cpu = [], []
    for _ in range(repeat + 1):
        cpu_before, wall_before = store.cpu_seconds() if store else 0, time.perf_counter()
        action()
        wall.append(time.perf_counter() - wall_before)
        cpu.append((store.cpu_seconds() if store else 0) - cpu_before)
    # The first run fills caches.
    return statistics.median(wall[1:]), statistics.median(cpu[1:])


def compare(stores, folder, size, repeat):
    source, copy = folder / "source", folder / "copy"
    piece = os.urandom(PIECE)
    with open(source, "wb") as file:
        for start in range(0, size, len(piece)):
            file.write(piece[: size - start])

    def copied(behind=""):
        command = f"cp --reflink=never {source} {copy}{behind}"
        return lambda: subprocess.run(["sh", "-c", command], check=True)

    plain, _ = timed(None, copied(), repeat)
    forced, _ = timed(None, copied(f" && sync {copy}"), repeat)
    print(f"\nGET and PUT of {size / 1e6:.0f} MB, one connection; wall and CPU seconds of the store")
    print(f"  {'cp':8} {plain:8.3f} wall, {forced:8.3f} with sync")
    for store in stores:
        store.client.create_bucket(Bucket=BUCKET)
        place = {"Bucket": BUCKET, "Key": KEY}
        url = {name: store.client.generate_presigned_url(f"{name}_object", Params=place) for name in ("put", "get")}
        for name, action, beside in (
            ("PUT", lambda: put(url["put"], source, size), forced),
            ("GET", lambda: get(url["get"], copy, size), plain),
        ):
            wall, cpu = timed(store, action, repeat)
            print(
                f"  {store.name:8} {name} {wall:8.3f} wall ({wall / beside:.2f} x cp), "
                f"{cpu:8.3f} CPU ({size / max(cpu, 0.01) / 1e6:.0f} MB per CPU second)",
                flush=True,
            )
