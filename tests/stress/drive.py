"""Makes the attacks and prints what they cost: `tests/stress/run` starts it."""

import os
import shutil
import sys
import tempfile
import time
import traceback

import durable  # noqa: F401 - they register themselves
import listing  # noqa: F401
import slow  # noqa: F401
import statements  # noqa: F401
import strangers  # noqa: F401
from arena import ATTACKS, Arena
from server import MOST, Miss


def main(binary, wanted):
    unknown = set(wanted) - {name for name, _, _ in ATTACKS}
    if unknown:
        names = "\n  ".join(name for name, _, _ in ATTACKS)
        sys.exit(f"no such attack: {', '.join(sorted(unknown))}; there are\n  {names}")
    chosen = [attack for attack in ATTACKS if not wanted or attack[0] in wanted]
    work = tempfile.mkdtemp(prefix="sluice-stress-")
    start = time.monotonic()
    misses = []
    try:
        arena = Arena(os.path.abspath(binary), work)
        line = "{:<34} {:>5} {:>7} {:>7} {:>7} {:>7}  {}".format
        print(line("attack", "round", "seconds", "CPU", "peak", "MiB", "figures"))
        for round_ in range(1, int(os.environ.get("STRESS_ROUNDS", "2")) + 1):
            arena.round = round_
            for name, alone, attack in chosen:
                if alone and round_ > 1:
                    continue
                begun, cpu = time.monotonic(), arena.server.cpu
                arena.server.forget_peak()
                try:
                    figures = attack(arena)
                except Exception as error:  # noqa: BLE001 - the others are made all the same
                    figures = f"MISS: {error}" if isinstance(error, Miss) else f"MISS: {error!r}"
                    misses.append(name)
                    if not isinstance(error, (Miss, AssertionError)):
                        traceback.print_exc()
                    if arena.server.process.poll() is not None:
                        raise
                costs = ["-"] * 3
                if not alone:
                    costs = [f"{arena.server.cpu - cpu:.1f}"]
                    costs += [f"{arena.server.peak:.0f}", f"{arena.server.resident:.0f}"]
                seconds = f"{time.monotonic() - begun:.1f}"
                print(line(name, "-" if alone else round_, seconds, *costs, figures), flush=True)
        resident = arena.server.settle(MOST, 15)
        if resident > MOST:
            misses.append(f"{resident:.0f} MiB resident in the end")
        arena.server.stop()
        print(f"in the end {resident:.0f} MiB resident; {time.monotonic() - start:.0f} s")
    finally:
        if "arena" in locals() and arena.server.process.poll() is None:
            arena.server.kill()
        shutil.rmtree(work, ignore_errors=True)
    if misses:
        sys.exit(f"{len(misses)} missed: {', '.join(misses)}")
    print("every attack was borne")


main(sys.argv[1], sys.argv[2:])
