"""Statements and objects that would cost a store more than it has."""

import base64
import bz2
import gzip
import os
import random
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

from arena import attack, milliseconds, rows, timed
from s3 import ACCESS_KEY, SECRET_KEY, read_answer, rows_of, select_document
from server import check

LINES = "<JSON><Type>LINES</Type></JSON>"
DOCUMENT = "<JSON><Type>DOCUMENT</Type></JSON>"
PARQUET = "<Parquet></Parquet>"


@attack("1000 Selects at once")
def selects(arena):
    """Each is answered rightly, or told that the store is busy; memory stays bounded."""
    bucket, client = arena.bucket(), arena.client()
    path = arena.made(bucket, "numbers.csv", rows(100_000))
    # What the attack before it took is given back now and then.
    resident = arena.server.settle(75, 15)
    check(resident <= 100, f"{resident:.0f} MiB are not given back")
    arena.server.forget_peak()
    statement = "SELECT COUNT(*), SUM(CAST(_1 AS INT)) FROM S3Object"
    expected = f"100000,{100_000 * 99_999 // 2}\n".encode()
    connections = [client.connect() for _ in range(1000)]
    cpu = arena.server.cpu
    start = time.monotonic()
    for connection in connections:
        connection.sendall(client.select_bytes(path, statement))
    good = busy = 0
    with ThreadPoolExecutor(16) as readers:
        for answer in readers.map(read_answer, connections):
            if answer.status == 200:
                found = rows_of(answer.body)
                check(found == expected, f"a wrong answer: {found}")
                good += 1
            else:
                check((answer.status, answer.code) == (503, "Busy"), f"{answer.status} {answer.code}")
                busy += 1
    seconds = time.monotonic() - start
    for connection in connections:
        connection.close()
    check(good >= 64, f"only {good} are answered")
    check(arena.server.peak < 160, f"{arena.server.peak:.0f} MiB at most")
    return f"{good} right, {busy} busy, in {seconds:.1f} s, {arena.server.cpu - cpu:.1f} s CPU"


def bomb(make, member, count):
    packed = make(member)

    def write(file):
        for _ in range(count):
            file.write(packed)

    return write


@attack("gzip and bzip2 bombs")
def bombs(arena):
    """1 GiB behind 1 MiB: counted if it is records, refused if it is one, in bounded memory."""
    bucket, client = arena.bucket(), arena.client()
    arena.server.forget_peak()
    before, cpu = arena.server.peak, arena.server.cpu
    record = b"1,2\n" * (4 << 20)
    count = f"{64 * (4 << 20)}\n".encode()
    pack = lambda data: gzip.compress(data, 6)  # noqa: E731
    small = b"x" * (16 << 20)
    for key, write, kind, expected in [
        ("records.gz", bomb(pack, record, 64), "GZIP", count),
        ("one.gz", bomb(pack, small, 64), "GZIP", "OverMaxRecordSize"),
        ("zeros.bz2", bomb(bz2.compress, small, 64), "BZIP2", "OverMaxRecordSize"),
    ]:
        found = client.select(arena.made(bucket, key, write), "SELECT COUNT(*) FROM S3Object", compression=kind)
        check(found == expected, f"{key}: {found}")
    path = arena.made(bucket, "twice.gz", bomb(lambda data: gzip.compress(gzip.compress(data)), small, 1))
    client.select(path, "SELECT COUNT(*) FROM S3Object", compression="GZIP")
    grown = arena.server.peak - before
    check(grown < 64, f"it grows by {grown:.0f} MiB")
    return f"grows by {max(grown, 0):.0f} MiB, {arena.server.cpu - cpu:.1f} s CPU"


@attack("10^6 brackets")
def brackets(arena):
    """Objects, statements and documents nested as deep as they can be are refused, not followed."""
    bucket, client = arena.bucket(), arena.client()
    arena.server.forget_peak()
    before = arena.server.peak
    depth = 1_000_000
    told = set()
    for key, text in [
        ("arrays", b"[" * depth),
        ("closed", b"[" * (depth // 2) + b"]" * (depth // 2)),
        ("objects", b'{"a":' * (depth // 5)),
        ("inside", b'{"a":' + b"[" * depth + b"1" + b"]" * depth + b"}\n"),
    ]:
        client.put(f"{bucket}/{key}", text)
        for kind in (LINES, DOCUMENT):
            for statement in ("SELECT * FROM S3Object", "SELECT s.a FROM S3Object s WHERE s.b = 1"):
                found = client.select(f"{bucket}/{key}", statement, input=kind)
                if isinstance(found, str):
                    told.add(found)
    client.put(f"{bucket}/k", b"1\n")
    for left, right in [("(", ")"), ("NOT ", ""), ("-", ""), ("CAST(", " AS INT)"), ("COALESCE(", ")")]:
        for size in (1_000, 250_000):
            deep = size // (len(left) + len(right))
            statement = f"SELECT * FROM S3Object WHERE {left * deep}_1{right * deep}"
            found = client.select(f"{bucket}/k", statement)
            check(isinstance(found, (str, bytes)), "no answer")
            if isinstance(found, str):
                told.add(found)
    for method, target, query in [("POST", bucket, "delete"), ("POST", f"{bucket}/k", "uploadId")]:
        document = b"<Delete>" * 100_000
        answer = client.ask(method, target, [(query, "")], body=document)
        check(answer.status in (400, 404), f"a nested document is answered {answer.status}")
        told.add(answer.code)
    check("InternalError" not in told, f"told: {told}")
    grown = arena.server.peak - before
    check(grown < 64, f"it grows by {grown:.0f} MiB")
    return f"told {', '.join(sorted(told))}; grows by {max(grown, 0):.0f} MiB"


@attack("records of 100 MB")
def records(arena):
    """A record has at most 1 MiB, whatever it looks like."""
    bucket, client = arena.bucket(), arena.client()
    arena.server.forget_peak()
    before, piece = arena.server.peak, 100

    def repeated(first, part, last=b""):
        def make(file):
            file.write(first)
            for _ in range(piece):
                file.write(part * (1_000_000 // len(part)))
            file.write(last)

        return make

    told = {}
    for key, make, kind in [
        ("field", repeated(b"", b"x"), "<CSV></CSV>"),
        ("quoted", repeated(b'"', b'x""', b'"\n'), "<CSV></CSV>"),
        ("fields", repeated(b"", b"1,"), "<CSV></CSV>"),
        ("lines", repeated(b'"', b"x\n", b'"\n'), "<CSV><AllowQuotedRecordDelimiter>TRUE</AllowQuotedRecordDelimiter></CSV>"),
        ("text", repeated(b'{"a":"', b"x", b'"}\n'), LINES),
        ("array", repeated(b'{"a":[', b"1,", b"1]}\n"), LINES),
        ("spaces", repeated(b"{", b" ", b"}\n"), LINES),
        ("document", repeated(b'{"a":"', b"x", b'"}'), DOCUMENT),
    ]:  # fmt: skip
        # One that skips what it is not asked for may well count them.
        path = arena.made(bucket, "large-" + key, make)
        found = client.select(path, "SELECT * FROM S3Object", input=kind)
        told[key] = found if isinstance(found, str) else f"{len(found)} bytes"
        check(found == "OverMaxRecordSize", f"{key}: {told[key]}")
        client.select(path, "SELECT COUNT(*) FROM S3Object", input=kind)
    grown = arena.server.peak - before
    check(grown < 64, f"it grows by {grown:.0f} MiB")
    return f"{len(told)} kinds: OverMaxRecordSize, grows by {max(grown, 0):.0f} MiB"


@attack("300 Parquet mutants")
def mutants(arena, count=300):
    """A damaged file is an error or rows, never the end of the server."""
    bucket, client = arena.bucket(), arena.client()
    environment = {**os.environ, "AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY}
    generate = [arena.binary, "generate", "tpch", "--scale", "0.001", "--format", "parquet"]
    generate += ["--tables", "orders", "--to", f"s3:/{bucket}/whole", "--endpoint", f"http://{client.authority}"]
    made = subprocess.run(generate, env=environment, capture_output=True, text=True, check=False)
    check(made.returncode == 0, f"no Parquet: {made.stderr}")
    key = client.ask("GET", bucket, [("list-type", "2")]).field("Key")
    whole = client.get(f"{bucket}/{key}").body
    statements = ["SELECT * FROM S3Object", "SELECT COUNT(*) FROM S3Object s WHERE s.o_orderkey > 7"]
    right = client.select(f"{bucket}/{key}", statements[1], input=PARQUET)
    check(isinstance(right, bytes) and int(right) > 1000, f"whole it answers {right}")
    arena.server.forget_peak()
    before, picks = arena.server.peak, random.Random(arena.round)
    rows_, told = 0, {}
    for n in range(count):
        body = bytearray(whole)
        kind = n % 3
        if kind == 0:
            # In the footer, which says where everything is.
            for _ in range(picks.randrange(1, 4)):
                body[-picks.randrange(1, 3000)] = picks.randrange(256)
        elif kind == 1:
            for _ in range(picks.randrange(1, 30)):
                body[picks.randrange(len(body))] = picks.randrange(256)
        else:
            cut = picks.randrange(len(body))
            body = body[:cut] + body[cut + picks.randrange(1, 2000) :]
        client.put(f"{bucket}/mutant", bytes(body))
        for statement in statements:
            found = client.select(f"{bucket}/mutant", statement, input=PARQUET)
            if isinstance(found, str):
                told[found] = told.get(found, 0) + 1
            else:
                rows_ += 1
    check("InternalError" not in told, f"told: {told}")
    grown = arena.server.peak - before
    check(grown < 128, f"it grows by {grown:.0f} MiB")
    return f"{rows_} answers, {sum(told.values())} errors, grows by {max(grown, 0):.0f} MiB"


# Written by pyarrow with zstd: 2000 texts of 500 kB that share all but their last character, in DELTA_BYTE_ARRAY; a list of
# 20 million numbers; 1000 lists of 20 000 texts.
BEGINNINGS = (
    "UEFSMRUAFcasPRXqASwVoB8VDhUGFQYcAAAAKLUv/aAjqwcATAIAtAIDAAAAoB8BgAEE0A8AABMgoQcAwoQ9v4Q9Ewk9SOhBQg8S"
    "epDQg4QeJPR4CQDJ/Xgu2LhQuLBRAd4DFgDAgZXeBSAuRQQw6wIAEHgCABB4rQAAUDAxMjM0NTY3ODkCAMO3/Ag1mgMgFQQZLDUA"
    "GAZzY2hlbWEVAgAVDCUCGAF4JQBMHAAAABagHxkcGRwmABwVDBklBg4ZGAF4FQwWoB8W9Kw9FpgCJghJHBUAFQ4VAgA8FqDH1rkH"
    "GQYZJgCgHwAAABb0rD0WoB8mCBaYAgAoIHBhcnF1ZXQtY3BwLWFycm93IHZlcnNpb24gMjYuMC4xGRwcAAAAkAAAAFBBUjE="
)
LIST = (
    "UEFSMRUEFRAVGEwVAhUAEgAAKLUv/SAIHQAAQQAAFQAVNBVGLBWAtIkTFRAVBhUGHAAAACi1L/0gGtEAAAcAAAAD/vCziRMBBQAA"
    "AIC0iRMDAYC0iRMAFQQZTDUAGAZzY2hlbWEVAgA1AhgBeBUCFQZMPAAAADUEGARsaXN0FQIAFQQlAhgHZWxlbWVudAAWAhkcGRwm"
    "ABwVBBk1AAYQGTgBeARsaXN0B2VsZW1lbnQVDBaAtIkTFowBFqYBJjwmCCksFQQVABUCABUAFRAVAgA8KSYC/rOJExlGAAAAgLSJ"
    "EwAAABaMARYCJggWpgEAKCBwYXJxdWV0LWNwcC1hcnJvdyB2ZXJzaW9uIDI2LjAuMRkcHAAAAMEAAABQQVIx"
)
LISTS = (
    "UEFSMRUEFQwVHkwVAhUAEgAAKLUv/SAGMQAAAgAAAGFiFQAV/hMVVCwVgNmABBUQFQYVBhwAAAAotS/9YP8DBQEAyOwEAAAD/rC4"
    "AgEFAAAAgNmABAMBgNmABAABAOPkL0gVABX+ExVULBWA2YAEFRAVBhUGHAAAACi1L/1g/wMFAQDI7AQAAAP+sLgCAQUAAACA2YAE"
    "AwGA2YAEAAEA4+QvSBUAFf4TFVQsFYDZgAQVEBUGFQYcAAAAKLUv/WD/AwUBAMjsBAAAA/6wuAIBBQAAAIDZgAQDAYDZgAQAAQDj"
    "5C9IFQAV/hMVVCwVgNmABBUQFQYVBhwAAAAotS/9YP8DBQEAyOwEAAAD/rC4AgEFAAAAgNmABAMBgNmABAABAOPkL0gVABWmDxVU"
    "LBWA0IYDFRAVBhUGHAAAACi1L/1g0wIFAQDIwAMAAAP+sLgCAQUAAACA0IYDAwGA0IYDAAEAt1MVJBUEGUw1ABgGc2NoZW1hFQIA"
    "NQIYAXgVAhUGTDwAAAA1BBgEbGlzdBUCABUMJQIYB2VsZW1lbnQlAEwcAAAAFtAPGRwZHCYAHBUMGTUABhAZOAF4BGxpc3QHZWxl"
    "bWVudBUMFoC0iRMWrGEWxAUmQiYIKSwVBBUAFQIAFQAVEBUKADwWgOiSJhkm0A+wpIkTGUYAAACAtIkTAAAAFqxhFtAPJggWxAUA"
    "KCBwYXJxdWV0LWNwcC1hcnJvdyB2ZXJzaW9uIDI2LjAuMRkcHAAAAM8AAABQQVIx"
)


@attack("Parquet that stands for gigabytes")
def expanding(arena):
    """What a row may take is bounded, and rows are read as few at a time as memory allows."""
    bucket, client = arena.bucket(), arena.client()
    arena.server.forget_peak()
    before, cpu = arena.server.peak, arena.server.cpu
    sizes = []
    for packed, condition, expected in (
        (BEGINNINGS, "s.x LIKE '%9'", b"200\n"),
        (LIST, "s.x IS NULL", "OverMaxRecordSize"),
        (LISTS, "s.x[19999] = 'ab'", b"1000\n"),
    ):
        body = base64.b64decode("".join(packed))
        client.put(f"{bucket}/small", body)
        statement = f"SELECT COUNT(*) FROM S3Object s WHERE {condition}"
        found = client.select(f"{bucket}/small", statement, input=PARQUET)
        check(found == expected, f"{condition}: {found}")
        sizes.append(str(len(body)))
    grown = arena.server.peak - before
    check(grown < 200, f"grows by {grown:.0f} MiB")
    return f"{', '.join(sizes)} bytes: grows by {grown:.0f} MiB, {arena.server.cpu - cpu:.1f} s CPU"


@attack("JSON that stands for gigabytes")
def nesting(arena):
    """Small arrays take a hundred times their text: rows of many are refused, or read a few at a time."""
    bucket, client = arena.bucket(), arena.client()
    arena.server.forget_peak()
    before, cpu = arena.server.peak, arena.server.cpu
    sizes = []
    for element in ("[0]", '{"":[0]}', "[" * 100 + "0" + "]" * 100):
        for layout, length, times, expected in (
            ("DOCUMENT", 7_000_000, 1, "OverMaxRecordSize"),
            ("LINES", 900_000, 20, b"20\n"),
        ):
            elements = ",".join([element] * (length // (len(element) + 1)))
            body = gzip.compress(f'{{"a":[{elements}]}}\n'.encode() * times)
            client.put(f"{bucket}/small", body)
            statement = "SELECT COUNT(*) FROM S3Object s WHERE s.a IS NOT NULL"
            input = f"<JSON><Type>{layout}</Type></JSON>"
            found = client.select(f"{bucket}/small", statement, input=input, compression="GZIP")
            check(found == expected, f"{layout} of {element}: {found}")
            sizes.append(len(body))
    grown = arena.server.peak - before
    # A row of 128 MiB, and what other threads have freed of theirs and not yet given back.
    check(grown < 400, f"grows by {grown:.0f} MiB")
    least, most = min(sizes), max(sizes)
    return f"{least} to {most} bytes: grows by {grown:.0f} MiB, {arena.server.cpu - cpu:.1f} s CPU"


@attack("IN of 10 000 and 125 000 members")
def members(arena):
    """A look into a table, for each row, whatever types the members have."""
    bucket, client = arena.bucket(), arena.client()
    path = arena.made(bucket, "numbers.csv", rows(100_000))
    spent = []
    numbers = ",".join(str(n) for n in range(10_000))
    mixed = ",".join(str(n) if n % 2 else f"'{n}'" for n in range(10_000))
    digits = ",".join(str(n % 9) for n in range(125_000))
    for column, list_, expected in [
        ("_1", numbers, 10_000),
        ("CAST(_1 AS INT)", numbers, 10_000),
        ("_1", mixed, 10_000),
        ("CAST(_1 AS DECIMAL)", numbers, 10_000),
        ("_1", digits, 9),
        ("_3", digits, sum(n % 97 < 9 for n in range(100_000))),
    ]:
        cpu = arena.server.cpu
        found = client.select(path, f"SELECT COUNT(*) FROM S3Object WHERE {column} IN ({list_})")
        check(found == f"{expected}\n".encode(), f"{column} IN ({list_[:20]}…): {found}")
        spent.append(arena.server.cpu - cpu)
    check(max(spent) < 3, f"{max(spent):.1f} s CPU")
    return "CPU " + ", ".join(milliseconds(seconds) for seconds in spent)


@attack("Arrow answers of 3,000 columns")
def arrow(arena):
    """The header has at most 16 KiB. A record batch takes about 512 KiB, however many columns it has."""
    bucket, client = arena.bucket(), arena.client()
    path = arena.made(bucket, "numbers.csv", rows(100_000))

    def ask(columns, types):
        query = [("select", ""), ("select-type", "2")]
        statement = f"SELECT {','.join(['_1'] * columns)} FROM S3Object LIMIT 2000"
        headers = {"x-sluice-arrow": types}
        return client.ask("POST", path, query, headers=headers, body=select_document(statement))

    for types in (";" * (16 << 10), "int8;" * 4000, "utf8;" * 3275 + "text", "utf8;compression=zstd" * 700):
        refused = ask(1, types)
        check((refused.status, refused.code) == (400, "InvalidArgument"), f"{types[:20]}: {refused.status}")
    arena.server.forget_peak()
    before, cpu = arena.server.peak, arena.server.cpu
    types = ";".join(["utf8"] * 3000) + ";compression=zstd"
    with ThreadPoolExecutor(8) as clients:
        for answer in clients.map(lambda _: ask(3000, types), range(8)):
            found = rows_of(answer.body)
            check(found.endswith(b"\xff\xff\xff\xff\0\0\0\0"), f"no end of the stream: {found[-20:]}")
    grown = arena.server.peak - before
    check(grown < 200, f"grows by {grown:.0f} MiB")
    return f"grows by {grown:.0f} MiB, {arena.server.cpu - cpu:.1f} s CPU"


@attack("statement time-out", alone=True)
def time_out(arena):
    """A statement that takes too long is told so, soon, and others go on."""
    with arena.own("--statement-timeout", "1s") as server:
        client = server.client()
        client.put("/bucket")
        lines = b"".join(b"text of number %d\n" % n for n in range(400_000))
        client.put("/bucket/k", lines)
        patterns = " OR ".join(f"_1 LIKE '%{n}_%_no%{n}%'" for n in range(300))
        seconds, found = timed(lambda: client.select("/bucket/k", f"SELECT * FROM S3Object WHERE {patterns}"))
        check(found == "StatementTimeout", f"it is answered {found}")
        check(seconds < 6, f"it takes {seconds:.1f} s")
        check(client.select("/bucket/k", "SELECT COUNT(*) FROM S3Object") == b"400000\n", "no other statement")
        return f"StatementTimeout after {seconds:.2f} s of 1 s"


@attack("rows that multiply a record")
def multiplied(arena):
    """What a statement makes of a long field is bounded while it is made, and so is the time that it takes."""
    bucket, client = arena.bucket(), arena.client()
    client.put(f"{bucket}/long", (b"a" * 1_000_000 + b"\n") * 5)
    client.put(f"{bucket}/odd", (b"\x01" * 1_000_000 + b"\n") * 2)
    arena.server.forget_peak()
    before, cpu, told = arena.server.peak, arena.server.cpu, []
    fields, letters = ",".join(["_1"] * 5000), "b" * 100_000
    for key, statement, output in [
        ("long", f"SELECT {fields} FROM S3Object", "<CSV></CSV>"),
        ("long", f"SELECT {','.join(['MAX(_1)'] * 5000)} FROM S3Object", "<CSV></CSV>"),
        ("odd", f"SELECT {','.join(['_1'] * 100)} FROM S3Object", "<JSON></JSON>"),
        ("long", f"SELECT COUNT(TRIM(BOTH '{letters}a' FROM _1)) FROM S3Object", "<CSV></CSV>"),
        ("long", f"SELECT COUNT(*) FROM S3Object WHERE _1 LIKE '%{'_a' * 50_000}b%'", "<CSV></CSV>"),
    ]:
        seconds, found = timed(lambda: client.select(f"{bucket}/{key}", statement, output=output))
        check(seconds < 20, f"{statement[:30]}… takes {seconds:.1f} s")
        told.append(found if isinstance(found, str) else found.decode().strip())
    check(told[:3] == ["OverMaxRecordSize"] * 3, f"told: {told}")
    grown = arena.server.peak - before
    check(grown < 128, f"it grows by {grown:.0f} MiB")
    return f"told {', '.join(told)}; grows by {max(grown, 0):.0f} MiB, {arena.server.cpu - cpu:.1f} s CPU"
