"""Listings of very many keys."""

import os
import shutil
import tempfile
import time

from arena import attack
from server import check

KEYS, PAGE, PAGES = 1_000_000, 1000, 50


def page(client, *query):
    answer = client.ask("GET", "/million", [("list-type", "2"), ("max-keys", str(PAGE)), *query])
    check(answer.status == 200, f"a listing is answered {answer.status}: {answer.body[:200]}")
    check(answer.field("KeyCount") == str(PAGE), f"a page has {answer.field('KeyCount')} keys")
    return answer.field("NextContinuationToken")


@attack("LIST of a flat million", alone=True)
def million(arena):
    """Beside what it takes to read the directory, a page costs next to nothing."""
    folder = tempfile.mkdtemp(dir=arena.work)
    try:
        os.mkdir(f"{folder}/million")
        bucket = os.open(f"{folder}/million", os.O_RDONLY)
        for n in range(KEYS):
            os.close(os.open(f"key-{n:07}", os.O_CREAT | os.O_WRONLY, dir_fd=bucket))
        os.close(bucket)
        with arena.own("--no-fsync", folder=folder) as server:
            start = time.process_time()
            for _ in os.scandir(f"{folder}/million"):
                pass
            reading = time.process_time() - start
            client = server.client()
            before, cpu = server.peak, server.cpu
            token = page(client)
            first, cpu = server.cpu - cpu, server.cpu
            directory = server.peak - before
            check(directory < 32, f"for the directory it grows by {directory:.0f} MiB")
            for _ in range(PAGES):
                token = page(client, ("continuation-token", token))
            each = (server.cpu - cpu) / PAGES
            grown = server.peak - before - directory
            check(each < 0.1, f"a page takes {each:.3f} s of CPU")
            check(grown < 10, f"with the pages it grows by {grown:.0f} MiB")
        return (
            f"a page {each * 1000:.0f} ms of CPU, the first {first:.1f} s (Python reads the names in {reading:.1f} s); "
            f"grows by {directory:.0f} MiB, with {PAGES} pages {grown:.0f} more"
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)
