"""Clients that are many, slow, silent, or gone."""

import contextlib
import socket
import threading
import time

from arena import attack, in_parallel, milliseconds, others_are_served, rows, timed
from s3 import push, read_answer
from server import MOST, check

# How long the shared server waits for a client.
PATIENCE = 5


def wait_until(held, seconds):
    """Waits for so long at most; whoever is stopped meanwhile, as by a measurement, has not waited."""
    for _ in range(int(seconds / 0.05)):
        if held():
            return
        time.sleep(0.05)


def close_all(arena, connections):
    """Closes the connections, and waits until the server has let them go."""
    for connection in connections:
        connection.close()
    wait_until(lambda: arena.server.sockets <= 20, 10)
    check(arena.server.sockets <= 20, f"{arena.server.sockets} sockets are left")


def are_given_up(arena, within):
    """Waits until the server has given up its silent clients, who have not closed; returns how long it took."""
    start = time.monotonic()
    wait_until(lambda: arena.server.sockets <= 20, within)
    check(arena.server.sockets <= 20, f"{arena.server.sockets} sockets are held after {within} s")
    return time.monotonic() - start


@attack("2000 idle connections")
def idle(arena):
    """They cost little, keep nobody out, and are given up."""
    client = arena.client()
    arena.server.forget_peak()
    before = arena.server.peak
    # Some have been served once, some have begun a head.
    connections = []
    for n in range(2000):
        connection = client.connect()
        if n % 3 == 1:
            connection.sendall(client.bytes("GET", "/"))
            read_answer(connection)
        elif n % 3 == 2:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: loc")
        connections.append(connection)
    slowest = others_are_served(arena, 5)
    grown = arena.server.peak - before
    seconds = are_given_up(arena, 4 * PATIENCE)
    close_all(arena, connections)
    check(grown < 64, f"it grows by {grown:.0f} MiB")
    return f"others within {milliseconds(slowest)}, grows by {grown:.0f} MiB, given up after {seconds:.1f} s"


@attack("600 slow PUTs beside LIST")
def slow_puts(arena):
    """They hold no thread, and are given up once they are slower than the least rate for long."""
    bucket, client = arena.bucket(), arena.client()
    connections = []
    for n in range(600):
        connection = client.connect()
        connection.sendall(client.bytes("PUT", f"{bucket}/slow-{n}", length=1 << 20) + b"slow")
        connections.append(connection)
    waits = []
    end = time.monotonic() + 2
    while time.monotonic() < end:
        seconds, answer = timed(lambda: client.ask("GET", bucket, [("list-type", "2")]))
        check(answer.field("KeyCount") == "0", "a slow PUT is seen before its end")
        waits.append(seconds)
        for connection in connections:
            try:
                connection.sendall(b"x")
            except OSError:
                pass
    waits.sort()
    check(waits[len(waits) // 2] < 1, f"LIST waits {waits[len(waits) // 2]:.1f} s, the median of {len(waits)}")
    seconds = are_given_up(arena, 6 * PATIENCE)
    # Those that had no turn are told so, the others that they were too slow.
    told = {}
    for connection in connections:
        try:
            answer = read_answer(connection)
            told[answer.code] = told.get(answer.code, 0) + 1
        except Exception:  # noqa: BLE001 - cut off
            told["cut"] = told.get("cut", 0) + 1
    close_all(arena, connections)
    check(set(told) <= {"RequestTimeout", "SlowDown", "cut"}, f"slow PUTs are told {told}")
    slowest = others_are_served(arena, 5)
    return (
        f"LIST median {milliseconds(waits[len(waits) // 2])}, worst {milliseconds(waits[-1])}; given up "
        f"after {seconds:.1f} s; others then {milliseconds(slowest)}"
    )


@attack("refused PUTs that go on")
def refused(arena):
    """Their bodies are discarded, up to 64 MiB each and for as long as any client is waited for."""
    bucket, client = arena.bucket(), arena.client()
    arena.server.forget_peak()
    before = arena.server.peak

    def send(n):
        connection = client.connect()
        connection.sendall(client.bytes("PUT", f"{bucket}/refused-{n}", length=1 << 40))
        return connection, push(connection, 256 << 20)

    connections = in_parallel(8, send)
    most = max(sent for _, sent in connections) >> 20
    check(most < 96, f"{most} MiB of a refused body are taken")
    trickling = [client.connect() for _ in range(100)]
    for n, connection in enumerate(trickling):
        connection.sendall(client.bytes("PUT", f"{bucket}/trickling-{n}", length=1 << 40))
    slowest = others_are_served(arena, 5)
    end = time.monotonic() + 2 * PATIENCE
    left = len(trickling)
    while left and time.monotonic() < end:
        left = 0
        for connection in trickling:
            try:
                connection.sendall(b"x")
                left += 1
            except OSError:
                pass
        time.sleep(0.1)
    check(left == 0, f"{left} refused clients are still waited for")
    close_all(arena, [connection for connection, _ in connections] + trickling)
    grown = arena.server.peak - before
    check(grown < 64, f"it grows by {grown:.0f} MiB")
    return f"{most} MiB of one at most, grows by {max(grown, 0):.0f} MiB, others within {milliseconds(slowest)}"


@attack("100 Select readers that stop")
def stalled_readers(arena):
    """They hold no turn and no core, and are given up."""
    bucket, client = arena.bucket(), arena.client()
    path = arena.made(bucket, "million.csv", rows(1_000_000))
    arena.server.forget_peak()
    before = arena.server.peak
    connections = []
    for _ in range(100):
        connection = socket.socket()
        # Little is on its way when it stops reading.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 << 10)
        connection.connect((client.host, client.port))
        connection.sendall(client.select_bytes(path, "SELECT * FROM S3Object"))
        connections.append(connection)
    time.sleep(1)
    slowest = others_are_served(arena, 4)
    grown = arena.server.peak - before
    seconds = are_given_up(arena, 6 * PATIENCE)
    close_all(arena, connections)
    # Each was begun, and had some MiB ready; what nobody uses any more is given back.
    check(grown < 800, f"it grows by {grown:.0f} MiB")
    left = arena.server.settle(MOST, 15)
    check(left <= MOST, f"{left:.0f} MiB stay")
    return (
        f"others within {milliseconds(slowest)}, grows by {grown:.0f} MiB, given up after {seconds:.1f} s, "
        f"then {left:.0f} MiB"
    )


@attack("400 Select readers of 3 KB/s")
def trickling_readers(arena):
    """They keep the least rate, hold all statements that may begin, and give way to others."""
    bucket, client = arena.bucket(), arena.client()
    path = arena.made(bucket, "million.csv", rows(1_000_000))
    arena.server.forget_peak()
    before = arena.server.peak
    connections, stopped = [], threading.Event()
    for _ in range(400):
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 10)
        connection.connect((client.host, client.port))
        connection.sendall(client.select_bytes(path, "SELECT * FROM S3Object"))
        connection.setblocking(False)
        connections.append(connection)

    def trickle():
        while not stopped.wait(1):
            for connection in connections:
                with contextlib.suppress(OSError):
                    connection.recv(3000)

    reader = threading.Thread(target=trickle)
    reader.start()
    try:
        time.sleep(3)
        slowest = others_are_served(arena, 20)
    finally:
        stopped.set()
        reader.join()
    grown = arena.server.peak - before
    close_all(arena, connections)
    check(grown < 800, f"it grows by {grown:.0f} MiB")
    return f"others within {milliseconds(slowest)}, grows by {grown:.0f} MiB"


@attack("a client that goes away")
def gone(arena):
    """Nothing is computed for it any more."""
    bucket, client = arena.bucket(), arena.client()
    path = arena.made(bucket, "million.csv", rows(1_000_000))
    # No row passes, so nothing is ever written that would say that nobody reads.
    patterns = " OR ".join(f"_2 LIKE '%{n}_%_no%{n}%'" for n in range(300))
    slow = f"SELECT * FROM S3Object WHERE {patterns}"
    waits = []
    for _ in range(5):
        connection = client.connect()
        connection.sendall(client.select_bytes(path, slow))
        time.sleep(0.4)
        before = arena.server.cpu
        time.sleep(0.2)
        check(arena.server.cpu > before, "the statement is too fast to be given up")
        connection.close()
        waits.append(until_idle(arena.server))
    waits.sort()
    check(waits[-1] < 2, f"it computes for {waits[-1]:.2f} s more")
    return f"CPU stops after {milliseconds(waits[2])}, at most {milliseconds(waits[-1])}"


def until_idle(server, most=10):
    """When a server stopped to compute, in seconds from now, seen within 20 ms."""
    start = last = time.monotonic()
    spent = server.cpu
    while last + 0.15 > time.monotonic() and time.monotonic() < start + most:
        time.sleep(0.01)
        if server.cpu > spent:
            spent, last = server.cpu, time.monotonic()
    return last - start


@attack("answers that are not read")
def unread(arena):
    """200 GETs of 16 MiB whose readers stop hold neither memory nor threads."""
    bucket, client = arena.bucket(), arena.client()
    path = arena.made(bucket, "sixteen", lambda file: file.write(bytes(16 << 20)))
    arena.server.forget_peak()
    before = arena.server.peak

    def ask(_):
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 << 10)
        connection.connect((client.host, client.port))
        connection.sendall(arena.client().bytes("GET", path))
        return connection

    connections = in_parallel(200, ask)
    time.sleep(0.5)
    slowest = others_are_served(arena, 4)
    grown = arena.server.peak - before
    seconds = are_given_up(arena, 6 * PATIENCE)
    close_all(arena, connections)
    check(grown < 200, f"it grows by {grown:.0f} MiB")
    return f"others within {milliseconds(slowest)}, grows by {grown:.0f} MiB, given up after {seconds:.1f} s"
