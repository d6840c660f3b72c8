"""The engine: the test binary as a process that answers statements."""

import json
import os
import pathlib
import select
import subprocess

PATIENCE = 300


class Driver:
    def __init__(self, binary):
        self.binary = binary
        self.start()

    def start(self):
        environment = dict(os.environ, SLUICE_TEST_ORACLE_DRIVER="1", RUST_BACKTRACE="0")
        command = [self.binary, "oracle::driver::statements_on_stdin_are_answered", "--exact", "--nocapture", "--test-threads=1"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        env=environment, text=True, bufsize=1)
        for line in self.process.stdout:
            at = line.find('{"bucket"')
            if at >= 0:
                ready = json.loads(line[at:])
                self.folder, self.bucket = pathlib.Path(ready["folder"]), ready["bucket"]
                return
        raise RuntimeError(f"{self.binary} does not answer")

    def ask(self, **request):
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            # The engine ends a statement after 30 seconds, unless its thread is blocked.
            if not select.select([self.process.stdout], [], [], PATIENCE)[0]:
                self.process.kill()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise Ended()
        return json.loads(line)

    def put(self, key, bytes):
        path = self.folder / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes)

    def open(self, name, statements):
        return self.ask(open=name, statements=statements).get("error")

    def close(self, name):
        self.ask(close=name)

    def run(self, text, names):
        return self.ask(run=text, **{"in": names})["answers"]

    def end(self):
        self.process.stdin.close()
        self.process.wait()


class Ended(Exception):
    """The process ended: an abort, a stack that overflowed, or no answer."""
