"""Drives simple_switch with the packets of each program, and compares what leaves and what its
registers hold with what the interpreter says. Usage: drive.py FOLDER SIMPLE_SWITCH SIMPLE_SWITCH_CLI"""

import json
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time

PORT = 9090

# The control plane tells cells as signed numbers of 64 bits, and greater ones as the greatest: of
# those it is only seen that they are that great.
MOST = (1 << 63) - 1


class Differs(Exception):
    """What the switch does is not what the interpreter does."""


def frames(path):
    """The frames of a capture; one that is still being written ends early."""
    data = path.read_bytes() if path.exists() else b""
    at, found = 24, []
    while at + 16 <= len(data):
        _, _, length, _ = struct.unpack_from("<IIII", data, at)
        if at + 16 + length > len(data):
            break
        found.append(data[at + 16 : at + 16 + length])
        at += 16 + length
    return found


def check_hashes(program, entries):
    """Each call of a custom polynomial is set, and nothing else is."""
    calculations = json.loads(program.read_text())["calculations"]
    custom = {c["name"] for c in calculations if c["algo"] == "crc32_custom"}
    given = set(re.findall(r"^set_crc32_parameters (\S+)", entries, re.MULTILINE))
    if custom != given:
        raise Differs(f"calculations of the program {sorted(custom)}, of the entries {sorted(given)}")


class Switch:
    """A running simple_switch that reads its packets from a file after some seconds."""

    def __init__(self, folder, wait, switch, cli):
        self.cli = cli
        self.work = pathlib.Path(tempfile.mkdtemp())
        packets = (folder / "in.pcap").read_bytes()
        (self.work / "0_in.pcap").write_bytes(packets)
        (self.work / "1_in.pcap").write_bytes(packets[:24])
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            [switch, "--use-files", str(wait), "-i", "0@0", "-i", "1@1", "--thrift-port", str(PORT),
             str(folder / "v1model.json")],
            cwd=self.work, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", PORT), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise Differs("simple_switch does not listen")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.work)

    def command(self, commands):
        """What simple_switch_CLI prints."""
        done = subprocess.run(
            [self.cli, "--thrift-port", str(PORT)], input=commands, text=True, timeout=120,
            capture_output=True,
        )
        return done.stdout + done.stderr

    def install(self, entries):
        told = self.command("set_queue_depth 1000000\n" + entries)
        added = len(re.findall("Entry has been added", told))
        if added != entries.count("table_add") or re.search("Error|Invalid|Unknown|Traceback", told):
            raise Differs(f"the entries are refused: {told[-2000:]}")

    def packets(self, expected):
        """The packets that left at port 1, once the last one, which always passes, did."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            left = frames(self.work / "1_out.pcap")
            if left and left[-1] == expected[-1]:
                return left
            time.sleep(0.05)
        raise Differs(f"after {len(left)} packets of {len(expected)} no more leave")

    def answers(self, count):
        """Those that left at port 0, after all came in. Another thread writes them."""
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            back = frames(self.work / "0_out.pcap")
            if len(back) >= count:
                break
            time.sleep(0.05)
        return back


def check_packets(left, expected, port):
    for number, (ours, theirs) in enumerate(zip(expected, left)):
        if ours != theirs:
            raise Differs(f"packet {number} leaves port {port} as {theirs.hex()}, not {ours.hex()}")
    if len(left) != len(expected):
        raise Differs(f"{len(left)} packets leave port {port}, not {len(expected)}")


def check_registers(switch, expected):
    lines = [line.split() for line in expected.splitlines()]
    reads = [f"register_read SwitchIngress.{name} {at.strip('*')}" for name, at, *_ in lines]
    told = re.findall(r"SwitchIngress\S*= (.*)", switch.command("\n".join(reads) + "\n"))
    if len(told) != len(lines):
        raise Differs(f"{len(told)} registers are told, not {len(lines)}")
    cells, great = 0, 0
    for (name, at, *values), answer in zip(lines, told):
        theirs = [int(value) for value in answer.split(",")]
        ours = [min(int(value), MOST) for value in values]
        if ours != theirs:
            cell = next((n for n, (a, b) in enumerate(zip(ours, theirs)) if a != b), len(theirs))
            raise Differs(f"register {name}[{at}] differs at {cell}")
        cells += len(ours)
        great += ours.count(MOST)
    return cells, great


def drive(folder, switch, cli):
    entries = (folder / "v1model.entries").read_text()
    check_hashes(folder / "v1model.json", entries)
    expected, answers = frames(folder / "out.pcap"), frames(folder / "back.pcap")
    wait = 2 + entries.count("\n") // 200
    while True:
        with Switch(folder, wait, switch, cli) as running:
            running.install(entries)
            if time.monotonic() - running.started > wait - 0.5:
                wait *= 2
                continue
            check_packets(running.packets(expected), expected, 1)
            check_packets(running.answers(len(answers)), answers, 0)
            cells = check_registers(running, (folder / "registers").read_text())
        return len(frames(folder / "in.pcap")), len(expected), len(answers), *cells


def main():
    root, switch, cli = sys.argv[1:]
    wrong, programs, totals = 0, 0, [0, 0, 0, 0, 0]
    for folder in sorted(path for path in pathlib.Path(root).iterdir() if path.is_dir()):
        if not (folder / "v1model.json").exists():
            continue
        programs += 1
        try:
            counts = drive(folder, switch, cli)
            totals = [total + count for total, count in zip(totals, counts)]
        except (Differs, subprocess.TimeoutExpired) as error:
            print(f"FAILED: {folder.name}: {error}", file=sys.stderr)
            wrong += 1
    entered, left, back, cells, great = totals
    print(f"simple_switch: {programs - wrong} of {programs} programs as the interpreter: "
          f"{entered} packets in, {left} out, {back} acknowledged, {cells} register cells, {great} of them only told as at least 2^63 - 1")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
