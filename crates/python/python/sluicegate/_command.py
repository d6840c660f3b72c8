"""The command `sluice`."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import sysconfig

from . import _native


def main() -> int:
    """Run the command with the arguments of this process, and return its exit code."""
    # The command handles Ctrl-C itself.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _native.run_command(_program(), sys.argv[1:])


def _program() -> str:
    """Return the executable that runs `sluice`."""
    called = sys.argv[0]
    name = os.path.basename(called)
    if name.startswith("sluice"):
        found = shutil.which(called)
        if found is not None:
            return os.path.abspath(found)
    return os.path.join(sysconfig.get_path("scripts"), "sluice")
