"""Requests that nobody should make, and what is not to be had by them."""

import base64
import hashlib
import os
import time
import zlib

from arena import attack, in_parallel, milliseconds, others_are_served, timed
from s3 import REGION, push, read_answer
from server import check

HEADERS = {
    "x-amz-copy-source": "{bucket}/secret",
    "x-amz-copy-source-range": "bytes=0-1",
    "x-amz-meta-colour": "red",
    "x-amz-acl": "public-read",
    "x-amz-tagging": "a=b",
    "x-amz-storage-class": "GLACIER",
    "x-amz-checksum-crc32": "AAAAAA==",
    "x-amz-website-redirect-location": "/elsewhere",
    "x-amz-nobody-knows-it": "1",
}

PATHS = [
    "/../outside", "/../../etc/passwd", "/%2e%2e/outside", "/%2e%2e%2foutside", "/..%2foutside",
    "/{b}/../outside", "/{b}/../../outside", "/{b}/%2e%2e/outside", "/{b}/%2e%2e%2f%2e%2e%2foutside",
    "/{b}/..%2f..%2foutside", "/{b}/a/../../outside", "/{b}/./k", "/{b}/.", "/{b}/..", "/{b}//k",
    "/{b}///", "/{b}/a//b", "/{b}/a/./b", "/{b}/a%00b", "/{b}/%00", "/{b}/%ff%fe", "/{b}/%c0%ae%c0%ae/outside",
    "/{b}/..%5c..%5coutside", "/{b}/c:%5cwindows", "/{b}/con", "/{b}/.sluice/lock", "/.sluice/lock", "/.sluice",
    "/.sluice%2fmeta/x", "/{b}/" + "a" * 1024, "/{b}/" + "a" * 1025, "/{b}/" + "a" * 300 + "/b",
    "/{b}/" + "a/" * 500, "/{b}/%F0%9F%92%A9", "/{b}/a%0d%0aX-Evil:%201", "/{b}/a%0ab", "/{b}/%25%32%65", "/{b}/~",
    "/{b}/a%3Fb%23c", "/{b}/link/outside",
]  # fmt: skip


@attack("hostile paths", alone=True)
def paths(arena):
    """40 paths, 4 methods: nothing outside of the bucket is read, written or removed."""
    counts = {}
    # Whoever signs may name less, since a path that is spelled in an unusual way has another signature.
    for anonymous in (False, True):
        with arena.own(anonymous=anonymous) as server:
            try_paths(server, counts)
    return f"{len(PATHS)} paths x 4 x 2: " + ", ".join(f"{n} {kind}" for kind, n in sorted(counts.items()))


def try_paths(server, counts):
    client, secret = server.client(), os.urandom(16).hex()
    client.put("/bucket")
    around = os.path.dirname(server.folder)
    outside = os.path.join(around, "outside")
    with open(outside, "w") as file:
        file.write(secret)
    # A link that leads out is not followed.
    os.symlink(around, os.path.join(server.folder, "bucket", "link"))
    lock = os.path.join(server.folder, ".sluice", "lock")
    before = os.stat(lock)
    for path in PATHS:
        path = path.replace("/{b}", "/bucket")
        body = os.urandom(20).hex().encode()
        put = client.ask("PUT", path, body=body)
        got = client.ask("GET", path)
        if put.status == 200 and "/" in path.strip("/"):
            check(got.body == body, f"PUT {path[:60]} is stored, GET says {got.status} {got.body[:80]}")
        for answer in (put, got, client.ask("HEAD", path), client.ask("DELETE", path)):
            kind = f"{answer.status // 100}xx"
            counts[kind] = counts.get(kind, 0) + 1
            check(answer.status < 500 or answer.status == 501, f"{path[:60]} is answered {answer.status}")
            check(secret.encode() not in answer.body, f"{path[:60]} leads outside")
            check("x-evil" not in answer.headers, f"{path[:60]} adds a header")
        with open(outside) as file:
            check(file.read() == secret, f"{path[:60]} changes what is outside")
        if not os.path.isdir(os.path.join(server.folder, "bucket")):
            client.put("/bucket")
    after = os.stat(lock)
    check((before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns), "the store's own was changed")


def reflected(polynomial, width, data):
    """A CRC whose bits are reflected, by its definition."""
    table = []
    for value in range(256):
        for _ in range(8):
            value = (value >> 1) ^ (polynomial if value & 1 else 0)
        table.append(value)
    all_ones = (1 << width) - 1
    crc = all_ones
    for byte in data:
        crc = table[(crc ^ byte) & 255] ^ (crc >> 8)
    return (crc ^ all_ones).to_bytes(width // 8, "big")


CHECKSUMS = {
    "content-md5": lambda data: hashlib.md5(data).digest(),
    "x-amz-checksum-crc32": lambda data: zlib.crc32(data).to_bytes(4, "big"),
    "x-amz-checksum-crc32c": lambda data: reflected(0x82F63B78, 32, data),
    "x-amz-checksum-crc64nvme": lambda data: reflected(0x9A6C9329AC4BC9B5, 64, data),
    "x-amz-checksum-sha1": lambda data: hashlib.sha1(data).digest(),
    "x-amz-checksum-sha256": lambda data: hashlib.sha256(data).digest(),
}


@attack("wrong checksums")
def checksums(arena):
    """Every checksum that may be sent is checked, and what does not match is not stored."""
    bucket, client = arena.bucket(), arena.client()
    body = os.urandom(5000)
    tried = 0
    for name, digest in CHECKSUMS.items():
        right = base64.b64encode(digest(body)).decode()
        wrong = base64.b64encode(digest(body + b"!")).decode()
        path = f"{bucket}/{name}"
        delete = b"<Delete><Object><Key>kept</Key></Object></Delete>"
        for value, good in ((wrong, False), ("no checksum", False), (right, True)):
            answer = client.ask("PUT", path, headers={name: value}, body=body)
            check((answer.status == 200) == good, f"{name}: {value} is answered {answer.status} {answer.code}")
            check(good or answer.status == 400, f"{name}: {value} is answered {answer.status}")
            stored = client.ask("GET", path)
            check((stored.status == 200) == good, f"{name}: {value} is stored")
            tried += 1
        client.put(f"{bucket}/kept", b"kept")
        answer = client.ask("POST", bucket, [("delete", "")], {name: wrong}, delete)
        check(answer.status == 400, f"DeleteObjects with a wrong {name}: {answer.status} {answer.code}")
        check(client.get(f"{bucket}/kept").body == b"kept", "an object is removed all the same")
        tried += 1
        if name == "content-md5":
            continue
        # At the end of a chunked body.
        for value, good in ((wrong, False), (right, True)):
            chunks = f"{len(body):x}\r\n".encode() + body + f"\r\n0\r\n{name}:{value}\r\n\r\n".encode()
            answer = client.ask(
                "PUT",
                path + "-trailer",
                headers={"x-amz-trailer": name, "x-amz-decoded-content-length": len(body)},
                body=chunks,
                payload="STREAMING-UNSIGNED-PAYLOAD-TRAILER",
            )
            check((answer.status == 200) == good, f"trailer {name}: {answer.status} {answer.code}")
            tried += 1
    answer = client.ask("PUT", f"{bucket}/k", body=body, payload=hashlib.sha256(b"").hexdigest())
    check(answer.status == 400, f"another body than was signed: {answer.status} {answer.code}")
    return f"{tried + 1} checksums, the wrong ones refused with 400"


@attack("presigned PUT, headers added")
def presigned(arena):
    """No header that is not signed is honoured, wherever the signature is."""
    bucket, client = arena.bucket(), arena.client()
    client.put(f"{bucket}/secret", b"secret")
    for name, value in HEADERS.items():
        line = (name, value.replace("{bucket}", bucket))
        for path in (f"{bucket}/drop", f"{bucket}/drop-{name}"):
            lines = f"host: {client.authority}\r\n{line[0]}: {line[1]}\r\ncontent-length: 0\r\n"
            with client.connect() as connection:
                request = f"PUT {client.presigned('PUT', path)} HTTP/1.1\r\n{lines}\r\n"
                connection.sendall(request.encode())
                answer = read_answer(connection)
            check((answer.status, answer.code) == (403, "AccessDenied"), f"{name}: {answer.status} {answer.code}")
            answer = client.ask("PUT", path, extra=[line])
            check((answer.status, answer.code) == (403, "AccessDenied"), f"{name}: {answer.status} {answer.code}")
            check(client.ask("GET", path).status == 404, f"{name} stored something")
    with client.connect() as connection:
        target = client.presigned("PUT", f"{bucket}/drop")
        head = f"PUT {target} HTTP/1.1\r\nhost: {client.authority}\r\ncontent-length: 4\r\n\r\nmine"
        connection.sendall(head.encode())
        check(read_answer(connection).status == 200, "a presigned PUT is refused")
    for life, good in ((604_800, True), (604_801, False)):
        with client.connect() as connection:
            target = client.presigned("GET", f"{bucket}/drop", life=life)
            connection.sendall(f"GET {target} HTTP/1.1\r\nhost: {client.authority}\r\n\r\n".encode())
            check((read_answer(connection).status == 200) == good, f"a URL of {life} s")
    return f"{len(HEADERS)} headers x 4, all refused with 403"


@attack("buckets before the host")
def hosts(arena):
    """What names a bucket in front of the host is not read as if it did not."""
    bucket, client = arena.bucket(), arena.client()
    client.put(f"{bucket}/k", b"k")
    name, port = bucket.strip("/"), client.port
    before = client.ask("GET", "/").body.count(b"<Bucket>")
    tried = 0
    for host in (f"{name}.localhost:{port}", f"{name}.127.0.0.1:{port}", f"{name}.s3.amazonaws.com", "a.b.example"):
        for method, path in (("GET", "/"), ("PUT", "/marker"), ("DELETE", bucket), ("DELETE", f"{bucket}/k")):
            target, lines = client.head(method, path, authority=host)
            head = "".join(f"{name}: {value}\r\n" for name, value in lines)
            with client.connect() as connection:
                connection.sendall(f"{method} {target} HTTP/1.1\r\n{head}content-length: 0\r\n\r\n".encode())
                answer = read_answer(connection)
            check((answer.status, answer.code) == (400, "InvalidRequest"), f"{host}: {answer.status} {answer.code}")
            tried += 1
    check(client.get(f"{bucket}/k").body == b"k", "an object is removed")
    check(client.ask("GET", "/").body.count(b"<Bucket>") == before, "a bucket is made or removed")
    return f"{tried} signed requests, all refused with 400"


@attack("signatures of something else")
def signatures(arena):
    """A signature proves the request that was signed: its payload, also if it has none, its headers, service and
    algorithm."""
    bucket, client = arena.bucket(), arena.client()
    key = f"{bucket}/k"
    client.put(key, b"k")
    tried = 0
    for method, path in (("GET", key), ("HEAD", key), ("GET", bucket), ("DELETE", key)):
        answer = client.ask(method, path, payload=hashlib.sha256(b"x").hexdigest())
        check(answer.status == 400, f"{method} of another payload: {answer.status} {answer.code}")
        check(method == "HEAD" or answer.code == "XAmzContentSHA256Mismatch", f"{method}: {answer.code}")
        tried += 1
    changes = {
        "a name with a blank": lambda it: it.replace("SignedHeaders=", "SignedHeaders=x-amz-copy-source ;"),
        "a name twice": lambda it: it.replace("SignedHeaders=", "SignedHeaders=host;"),
        "without the host": lambda it: it.replace("SignedHeaders=host;", "SignedHeaders="),
        "another service": lambda it: it.replace("/s3/", "/sqs/"),
        "no region": lambda it: it.replace(f"/{REGION}/", "//"),
        "another algorithm": lambda it: it.replace("AWS4-HMAC-SHA256 ", "AWS4-ECDSA-P256-SHA256 "),
        "another key": lambda it: it.replace("Credential=", "Credential=x"),
    }
    for what, change in changes.items():
        target, lines = client.head("DELETE", key)
        head = "".join(f"{n}: {change(v) if n == 'authorization' else v}\r\n" for n, v in lines)
        with client.connect() as connection:
            connection.sendall(f"DELETE {target} HTTP/1.1\r\n{head}content-length: 0\r\n\r\n".encode())
            answer = read_answer(connection)
        check(answer.status in (400, 403), f"{what}: {answer.status} {answer.code}")
        tried += 1
    check(client.get(key).body == b"k", "an object is removed")
    return f"{tried} requests, all refused with 400 or 403"


@attack("stalled forms")
def forms(arena):
    """A form is refused before its body is read."""
    bucket, client = arena.bucket(), arena.client()
    before = arena.server.resident
    stalled = []
    slowest = 0.0
    for _ in range(8):
        connection = client.connect()
        head = (
            f"POST {bucket} HTTP/1.1\r\nhost: {client.authority}\r\ncontent-length: {1 << 30}\r\n"
            "content-type: multipart/form-data; boundary=b\r\n\r\n--b\r\n"
        )
        connection.sendall(head.encode())
        seconds, answer = timed(lambda: read_answer(connection))
        check(answer.status == 501, f"a form is answered {answer.status} {answer.code}")
        slowest = max(slowest, seconds)
        sent = push(connection, 8 << 20)
        stalled.append(connection)
    others_are_served(arena, 5)
    grown = arena.server.resident - before
    for connection in stalled:
        connection.close()
    check(grown < 16, f"it grows by {grown:.0f} MiB")
    return f"8 of 1 GiB: 501 within {milliseconds(slowest)}, {sent >> 20} MiB taken, grows by {max(grown, 0):.0f} MiB"


@attack("aws-chunked, a chunk of 4 GiB")
def chunks(arena):
    """A chunk takes no memory for what it says it has, and is nothing until it is complete."""
    bucket, client = arena.bucket(), arena.client()
    peaks, taken = [], []
    for payload, signature in (
        ("STREAMING-UNSIGNED-PAYLOAD-TRAILER", ""),
        ("STREAMING-AWS4-HMAC-SHA256-PAYLOAD", ";chunk-signature=" + "0" * 64),
    ):
        arena.server.forget_peak()
        before = arena.server.peak
        open_connections = []
        for n in range(4):
            connection = client.connect()
            headers = {"x-amz-decoded-content-length": 4 << 30}
            if not signature:
                headers["x-amz-trailer"] = "x-amz-checksum-crc32"
            length = (4 << 30) + 200
            head = client.bytes("PUT", f"{bucket}/{n}", headers=headers, length=length, payload=payload)
            connection.sendall(head + f"{4 << 30:x}{signature}\r\n".encode())
            taken.append(push(connection, 64 << 20))
            open_connections.append(connection)
        peaks.append(arena.server.peak - before)
        if signature:
            for connection in open_connections:
                try:
                    answer = read_answer(connection)
                    check(answer.status == 400, f"a signed chunk of 4 GiB: {answer.status} {answer.code}")
                except OSError:
                    # What it said was lost with the reset.
                    pass
        for connection in open_connections:
            connection.close()
    time.sleep(0.2)
    keys = client.ask("GET", bucket, [("list-type", "2")]).field("KeyCount")
    check(keys == "0", f"{keys} objects of incomplete chunks")
    check(max(peaks) < 64, f"it grows by {max(peaks):.0f} MiB")
    # Those that are not refused were really received.
    check(min(taken[:4]) == 64 << 20, f"unsigned chunks are taken up to {min(taken[:4]) >> 20} MiB")
    return f"4 x 64 MiB of unsigned, 4 signed refused: grows by {max(peaks):.0f} MiB at most, nothing stored"


@attack("anonymous body without a length", alone=True)
def endless(arena):
    """The limit of an upload holds for what is sent, not for what is announced."""
    with arena.own("--max-upload-size", "16MiB", anonymous=True) as server:
        client = server.client()
        client.put("/bucket")
        before = server.peak
        connection = client.connect()
        head = f"PUT /bucket/k HTTP/1.1\r\nhost: {client.authority}\r\ntransfer-encoding: chunked\r\n\r\n"
        connection.sendall(head.encode())
        piece = b"10000\r\n" + bytes(1 << 16) + b"\r\n"
        sent = 0
        connection.settimeout(5)
        try:
            while sent < 1 << 30:
                connection.sendall(piece)
                sent += 1 << 16
        except OSError:
            pass
        try:
            answer = read_answer(connection)
            check(answer.code == "EntityTooLarge", f"too long a body: {answer.status} {answer.code}")
        except OSError:
            # What it said was lost with the reset.
            pass
        check(sent < 64 << 20, f"{sent >> 20} MiB were taken")
        check(client.ask("GET", "/bucket/k").status == 404, "it was stored")
        answer = client.ask("POST", "/bucket", headers={"content-type": "multipart/form-data; boundary=b"})
        check(answer.status == 501, f"a form: {answer.status}")
        for name, value in (("Origin", "http://evil.example"), ("Host", "evil.example")):
            with client.connect() as connection:
                lines = f"host: {client.authority}\r\n{name}: {value}\r\n" if name != "Host" else f"host: {value}\r\n"
                connection.sendall(f"PUT /bucket/k HTTP/1.1\r\n{lines}content-length: 1\r\n\r\nx".encode())
                check(read_answer(connection).status == 403, f"a page with {name} stores objects")
        grown = server.peak - before
        check(grown < 64, f"it grows by {grown:.0f} MiB")
        return f"refused behind {sent >> 20} of 16 MiB, grows by {max(grown, 0):.0f} MiB"


@attack("LIST of 200 000 keys, 20 at once")
def listing(arena, keys=200_000, pages=5):
    """Pages in order and complete, whoever asks, in bounded memory."""
    bucket, client = arena.bucket(), arena.client()
    folder = arena.folder(bucket)
    for n in range(keys):
        os.close(os.open(f"{folder}/k{n:06}", os.O_CREAT | os.O_WRONLY))
    arena.server.forget_peak()
    cpu = arena.server.cpu
    first, _ = timed(lambda: client.ask("GET", bucket, [("list-type", "2")]))
    waits = []

    def page(n):
        own = arena.client()
        after = f"k{n * (keys // 20):06}"
        for _ in range(pages):
            query = [("list-type", "2"), ("start-after", after)]
            seconds, answer = timed(lambda: own.ask("GET", bucket, query))
            waits.append(seconds)
            found = [key.split(b"<", 1)[0].decode() for key in answer.body.split(b"<Key>")[1:]]
            start = int(after[1:]) + 1
            wanted = [f"k{n:06}" for n in range(start, min(start + 1000, keys))]
            check(found == wanted, f"a page after {after} has {len(found)} keys, from {found[:1]}")
            after = found[-1]

    in_parallel(20, page)
    spent = (arena.server.cpu - cpu) / (20 * pages + 1)
    # All of them, one page after another.
    token, count = None, 0
    while True:
        query = [("list-type", "2"), *([("continuation-token", token)] if token else [])]
        answer = client.ask("GET", bucket, query)
        count += answer.body.count(b"<Key>")
        token = answer.field("NextContinuationToken")
        if token is None:
            break
    check(count == keys, f"{count} of {keys} keys")
    peak = arena.server.peak
    check(peak < 200, f"{peak:.0f} MiB at most")
    waits.sort()
    return (
        f"first page {milliseconds(first)}, of 20 at once median {milliseconds(waits[len(waits) // 2])}, "
        f"{milliseconds(spent)} CPU a page"
    )
