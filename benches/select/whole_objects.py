"""GET and PUT of a whole object over one connection, beside `cp` of the same file.

The client is curl with a presigned URL, whose own work is little.
"""

import statistics
import subprocess
import time

BUCKET, KEY = "whole-objects", "object"


def timed(store, command, repeat):
    """Median wall seconds of a command, and CPU seconds of the store meanwhile."""
    wall, cpu = [], []
    for _ in range(repeat + 1):
        cpu_before, wall_before = store.cpu_seconds() if store else 0, time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        wall.append(time.perf_counter() - wall_before)
        cpu.append((store.cpu_seconds() if store else 0) - cpu_before)
    # The first run fills caches.
    return statistics.median(wall[1:]), statistics.median(cpu[1:])


def compare(stores, folder, size, repeat):
    source, copy = folder / "source", folder / "copy"
    with open(source, "wb") as file, open("/dev/urandom", "rb") as random:
        piece = random.read(1 << 20)
        for start in range(0, size, len(piece)):
            file.write(piece[: size - start])
    plain, _ = timed(None, ["cp", "--reflink=never", source, copy], repeat)
    forced, _ = timed(None, ["sh", "-c", f"cp --reflink=never {source} {copy} && sync {copy}"], repeat)
    print(f"\nGET and PUT of {size / 1e6:.0f} MB, one connection; wall and CPU seconds of the store")
    print(f"  {'cp':8} {plain:8.3f} wall, {forced:8.3f} with sync")
    for store in stores:
        store.client.create_bucket(Bucket=BUCKET)
        place = {"Bucket": BUCKET, "Key": KEY}
        put = store.client.generate_presigned_url("put_object", Params=place)
        get = store.client.generate_presigned_url("get_object", Params=place)
        curl = ["curl", "--silent", "--show-error", "--fail"]
        for name, command, beside in (
            ("PUT", [*curl, "--upload-file", source, put], forced),
            ("GET", [*curl, "--output", copy, get], plain),
        ):
            wall, cpu = timed(store, command, repeat)
            print(
                f"  {store.name:8} {name} {wall:8.3f} wall ({wall / beside:.2f} x cp), "
                f"{cpu:8.3f} CPU ({size / max(cpu, 0.01) / 1e6:.0f} MB per CPU second)",
                flush=True,
            )
