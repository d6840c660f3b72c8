"""Accidents and races: what was acknowledged stays, and what is seen is one version."""

import contextlib
import hashlib
import os
import random
import shutil
import subprocess
import tempfile
import threading
import time

from arena import attack, in_parallel, milliseconds, others_are_served, timed
from server import check


def content(key, version, size):
    """Bytes that say which object they are and how many they should be."""
    line = f"{key} {version} {size}\n".encode()
    return (line * (size // len(line) + 1))[: max(size, len(line))]


def is_whole(key, body):
    """Whether these are all the bytes of some version of the object."""
    words = body.split(b"\n", 1)[0].decode(errors="replace").split(" ")
    return len(words) == 3 and words[0] == key and body == content(key, words[1], int(words[2]))


@attack("kill -9 under 20 uploaders", alone=True)
def kills(arena, kills=50, uploaders=20):
    """An acknowledged object is there, whole, and no older than acknowledged; no object is half there."""
    acknowledged, attempted, lock = {}, {}, threading.Lock()
    with arena.own() as server:
        server.client().put("/bucket")
        stop = threading.Event()

        def upload(n):
            picks = random.Random(n)
            client, address = server.client(timeout=5), server.address
            while not stop.is_set():
                if server.address != address:
                    client, address = server.client(timeout=5), server.address
                # Some are new, some replace what was acknowledged.
                key = f"{n}-{picks.randrange(200)}"
                with lock:
                    version = attempted.get(key, 0) + 1
                    attempted[key] = version
                body = content(key, version, picks.choice([10, 3_000, 200_000]))
                try:
                    path = f"/bucket/{key}"
                    if picks.random() < 0.2:
                        upload_id = client.ask("POST", path, [("uploads", "")]).field("UploadId")
                        part = [("partNumber", "1"), ("uploadId", upload_id)]
                        etag = client.ask("PUT", path, part, body=body).headers["etag"]
                        answer = complete(client, path, upload_id, etag)
                        # It begins with 200 before it is decided.
                        stored = answer.status == 200 and answer.field("ETag")
                    else:
                        stored = client.ask("PUT", path, body=body).status == 200
                except Exception:  # noqa: BLE001 - the server was killed
                    client.close()
                    time.sleep(0.02)
                    continue
                if stored:
                    with lock:
                        acknowledged[key] = (version, acknowledged.get(key, (0, 0))[1] + 1)

        threads = [threading.Thread(target=upload, args=(n,), daemon=True) for n in range(uploaders)]
        for thread in threads:
            thread.start()
        picks = random.Random(1)
        for _ in range(kills):
            time.sleep(picks.uniform(0.2, 0.8))
            server.kill()
            server.start()
        stop.set()
        for thread in threads:
            thread.join()
        client = server.client()
        lost = half = 0
        for key, (version, _) in acknowledged.items():
            answer = client.ask("GET", f"/bucket/{key}")
            if answer.status != 200:
                lost += 1
            elif not is_whole(key, answer.body):
                half += 1
            else:
                lost += int(answer.body.split(b" ", 2)[1]) < version
        for key in attempted.keys() - acknowledged.keys():
            answer = client.ask("GET", f"/bucket/{key}")
            half += answer.status == 200 and not is_whole(key, answer.body)
        total = sum(count for _, count in acknowledged.values())
        check(total > kills, f"only {total} uploads were acknowledged")
        check(lost == 0 and half == 0, f"of {total} acknowledged uploads {lost} lost, {half} half")
    return f"{kills} kills, {total} acknowledged, 0 lost, 0 half"


def complete(client, path, upload_id, etag):
    document = (
        "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber>"
        f"<ETag>{etag}</ETag></Part></CompleteMultipartUpload>"
    )
    return client.ask("POST", path, [("uploadId", upload_id)], body=document.encode())


@contextlib.contextmanager
def small_file_system(work, size):
    """A file system of so many MiB, or None where none may be mounted."""
    folder = tempfile.mkdtemp(dir=work)
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}m", "stress", folder]
    mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    try:
        yield folder if mounted else None
    finally:
        if mounted:
            subprocess.run(["umount", folder], check=True)


@attack("disk full", alone=True)
def disk_full(arena):
    """507, what was there stays as it is, and there is room again once something is removed."""
    with small_file_system(arena.work, 48) as folder:
        if folder is None:
            return "SKIPPED: only root may mount a small file system"
        with arena.own(folder=folder) as server:
            client = server.client()
            client.put("/bucket")
            old = b"1,2\n" * (1 << 18)
            client.put("/bucket/old", old)
            stored, refused = 0, set()
            for n in range(80):
                answer = client.ask("PUT", f"/bucket/{n}", body=os.urandom(1 << 20))
                if answer.status == 200:
                    stored += 1
                else:
                    refused.add(answer.status)
            check(stored > 30 and refused == {507}, f"{stored} stored, refused by {refused}")
            answer = client.ask("PUT", "/bucket/old", body=os.urandom(2 << 20))
            check(answer.status == 507, f"an overwrite is answered {answer.status}")
            answer = client.ask("POST", "/bucket/parts", [("uploads", "")])
            if answer.status == 200:
                part = [("partNumber", "1"), ("uploadId", answer.field("UploadId"))]
                answer = client.ask("PUT", "/bucket/parts", part, body=os.urandom(2 << 20))
            check(answer.status == 507, f"a part is answered {answer.status}")
            check(client.get("/bucket/old").body == old, "the old object changed")
            count = client.select("/bucket/old", "SELECT COUNT(*) FROM S3Object")
            check(count == b"%d\n" % (1 << 18), f"a statement is answered {count}")
            for n in range(5):
                check(client.ask("DELETE", f"/bucket/{n}").status == 204, "no DELETE on a full disk")
            new = os.urandom(2 << 20)
            client.put("/bucket/old", new)
            check(client.get("/bucket/old").body == new, "the new object is not the one that was sent")
            return f"{stored} MiB stored, then 507; old data intact; recovers"


@attack("conditional writes")
def conditions(arena):
    """No increment is lost, and of those who create an object one does."""
    path = f"{arena.bucket()}/counter"
    arena.client().put(path, b"0")
    retries = [0] * 8

    def increment(n):
        client = arena.client()
        for _ in range(30):
            while True:
                seen = client.get(path)
                value = str(int(seen.body) + 1).encode()
                answer = client.ask("PUT", path, headers={"If-Match": seen.headers["etag"]}, body=value)
                if answer.status == 200:
                    break
                check(answer.status in (409, 412), f"a conditional PUT is answered {answer.status}")
                retries[n] += 1

    in_parallel(8, increment)
    count = int(arena.client().get(path).body)
    check(count == 240, f"{count} of 240 increments")
    new = path + "-new"
    header = {"If-None-Match": "*"}
    put = lambda n: arena.client().ask("PUT", new, headers=header, body=b"%d" % n).status  # noqa: E731
    answers = in_parallel(30, put)
    check(answers.count(200) == 1, f"of 30 one should win: {answers}")
    return f"240 of 240 increments ({sum(retries)} retries), one winner of 30"


@attack("GET racing overwrites")
def races(arena, seconds=6):
    """Bytes, ETag, Content-Type and metadata that are seen together were written together."""
    path = f"{arena.bucket()}/k"
    end, reads, mixed = time.monotonic() + seconds, [0] * 6, []

    def headers(version):
        return {"Content-Type": f"text/v{version}", "x-amz-meta-version": version}

    def write(n, client):
        version = f"{n}.{random.randrange(1 << 30)}"
        # Sizes repeat, and versions follow each other within a tick of coarse clocks.
        body = content("k", version, random.choice([64, 64, 100_000]))
        client.put(path, body, headers(version))

    write(0, arena.client())

    def race(n):
        client = arena.client()
        while time.monotonic() < end:
            if n < 4:
                write(n, client)
                continue
            seen = client.ask(random.choice(["GET", "GET", "HEAD"]), path)
            reads[n - 4] += 1
            version = seen.headers.get("x-amz-meta-version")
            is_one = seen.status == 200 and seen.headers["content-type"] == f"text/v{version}"
            if is_one and seen.body:
                etag = f'"{hashlib.md5(seen.body).hexdigest()}"'
                is_one = seen.body.split(b" ")[1].decode() == version and seen.headers["etag"] == etag
            if not is_one:
                mixed.append((seen.status, seen.headers, seen.body[:80]))

    in_parallel(10, race)
    check(not mixed, f"{len(mixed)} of {sum(reads)} mixed, such as {mixed[:1]}")
    return f"{sum(reads)} reads beside 4 writers, 0 of two versions"


@attack("completion retried")
def completions(arena):
    """Whoever completes an upload again gets the same answer, also at the same time."""
    client, bucket = arena.client(), arena.bucket()
    slowest = 0.0
    for n in range(20):
        path, body = f"{bucket}/{n}", os.urandom(1000 + n)
        upload_id = client.ask("POST", path, [("uploads", "")]).field("UploadId")
        part = [("partNumber", "1"), ("uploadId", upload_id)]
        etag = client.ask("PUT", path, part, body=body).headers["etag"]
        seconds, answers = timed(
            lambda: in_parallel(8, lambda _: complete(arena.client(), path, upload_id, etag))
        )
        slowest = max(slowest, seconds)
        answers.append(complete(client, path, upload_id, etag))
        found = {(answer.status, answer.field("ETag")) for answer in answers}
        check(len(found) == 1 and answers[0].status == 200, f"completions are answered {found}")
        check(client.get(path).body == body, "the object is another one")
    return f"20 uploads, each completed 9 times: one answer; {milliseconds(slowest)} at most"


@attack("abandoned uploads", alone=True)
def abandoned(arena):
    """Uploads that nobody completes go, and take their bytes with them."""
    with arena.own("--upload-expiry", "2s") as server:
        client = server.client()
        client.put("/bucket")
        for n in range(10):
            path = f"/bucket/{n}"
            upload_id = client.ask("POST", path, [("uploads", "")]).field("UploadId")
            part = [("partNumber", "1"), ("uploadId", upload_id)]
            check(client.ask("PUT", path, part, body=bytes(1 << 20)).status == 200, "no part")

        def left():
            uploads = os.path.join(server.folder, ".sluice", "uploads")
            files = (os.path.join(folder, f) for folder, _, files in os.walk(uploads) for f in files)
            return sum(os.path.getsize(file) for file in files)

        before, end = left(), time.monotonic() + 30
        check(before >= 10 << 20, f"only {before} bytes of parts")
        while left() > 0 and time.monotonic() < end:
            time.sleep(0.2)
        check(left() == 0, f"{left()} bytes are left")
        gone = client.ask("PUT", path, part, body=b"late")
        check(gone.code == "NoSuchUpload", f"a part of an expired upload: {gone.status} {gone.code}")
        return f"{before >> 20} MiB of 10 uploads gone"


def flip(path, at):
    """Flips a bit as a failing disk does: no time shows it."""
    times = os.stat(path)
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 1]))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


@attack("flipped bits on disk")
def rot(arena, small=100, large=4):
    """No part of a damaged object is answered as if it were whole, whichever bit it is."""
    bucket, client = arena.bucket(), arena.client()
    folder, picks = arena.folder(bucket), random.Random(arena.round)
    answered = refused = 0
    for n in range(small + large):
        size = picks.randrange(1, 100_000) if n < small else 9 << 20
        body = content("k", n, size)
        client.put(f"{bucket}/{n}", body)
        flip(f"{folder}/{n}", picks.randrange(len(body)))
        asks = {
            "Select": lambda: client.select(f"{bucket}/{n}", "SELECT COUNT(*) FROM S3Object") != "InternalError",
            "range": lambda: client.ask("GET", f"{bucket}/{n}", headers={"range": "bytes=0-0"}).status != 500,
            "ranges": lambda: client.ask("GET", f"{bucket}/{n}", headers={"range": "bytes=0-0,2-3"}).status != 500,
        }
        names = list(asks)
        picks.shuffle(names)
        # Of large objects a range may be sent before it is known.
        if n >= small:
            names.remove("Select")
            names.insert(0, "Select")
        for name in names:
            wrong = asks[name]()
            answered, refused = answered + wrong, refused + (not wrong)
    check(answered == 0, f"{answered} of {answered + refused} are answered")
    # What is stored again is whole again.
    client.put(f"{bucket}/0", b"1,2\n")
    check(client.select(f"{bucket}/0", "SELECT _2 FROM S3Object") == b"2\n", "a new version is refused")
    return f"{small} small and {large} large objects: {refused} reads refused, none answered"


@attack("ranges of many large objects")
def ranges(arena, objects=80, readers=20):
    """Checks in the background take neither memory nor the others' time, however many objects are looked into."""
    bucket = arena.bucket()
    body = os.urandom(9 << 20)
    folder, client = arena.folder(bucket), arena.client()
    client.put(f"{bucket}/0", body)
    for n in range(1, objects):
        client.ask("PUT", f"{bucket}/{n}", headers={"x-amz-copy-source": f"{bucket}/0"})
    before = arena.server.resident
    sockets = arena.server.files

    def read(reader):
        own, picks = arena.client(), random.Random(reader)
        for _ in range(3):
            for n in picks.sample(range(objects), objects):
                at = picks.randrange(len(body))
                got = own.get(f"{bucket}/{n}", headers={"range": f"bytes={at}-{at}"})
                check(got.body == body[at : at + 1], "another byte")

    seconds, _ = timed(lambda: in_parallel(readers, read))
    slowest = others_are_served(arena, 5)
    grown = arena.server.resident - before
    check(grown < 64, f"it grows by {grown:.0f} MiB")
    end = time.monotonic() + 30
    while arena.server.files > sockets + 10 and time.monotonic() < end:
        time.sleep(0.2)
    check(arena.server.files <= sockets + 10, f"{arena.server.files} files are open, {sockets} before")
    shutil.rmtree(folder)
    os.mkdir(folder)
    asked = 3 * objects * readers
    return (
        f"{asked} ranges of {objects} objects in {seconds:.1f} s, others within {milliseconds(slowest)}, "
        f"grows by {max(grown, 0):.0f} MiB"
    )
