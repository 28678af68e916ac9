"""The guard kills the groups that it guards, and no others, when its pipe ends."""

import os
import signal
import subprocess
import sys
from pathlib import Path

GUARD = Path(__file__).resolve().parents[2] / "standalone" / "process_group_guard.py"


def test_only_groups_still_guarded_are_killed() -> None:
    kept, released = (subprocess.Popen(["sleep", "600"], start_new_session=True) for _ in range(2))
    try:
        lines = f"+{kept.pid}\n+{released.pid}\n-{released.pid}\n+{2**22 + 1}\n"
        subprocess.run(
            [sys.executable, "-I", "-S", GUARD], input=lines, text=True, timeout=10, check=True
        )
        assert kept.wait(5) == -signal.SIGKILL
        assert released.poll() is None
    finally:
        for process in (kept, released):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
