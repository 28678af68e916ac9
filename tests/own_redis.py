"""A Redis-speaking server that a test may kill and bring back."""

import os
import subprocess
import time
from pathlib import Path

from standalone.valkey import answers, embedded, find_server


class OwnRedis:
    """A server for one test, which may kill it. Its URL is known before it runs."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._store = embedded(find_server(), folder, None, os.environ)
        self.process: subprocess.Popen[bytes] | None = None
        self.url = self._store.url

    def start(self) -> None:
        program = self._store.program
        self.process = subprocess.Popen(
            program.command,
            cwd=self.folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        assert self.process.stdin is not None
        with self.process.stdin as configuration:
            configuration.write(program.stdin)
        while not answers(self.url):
            assert self.process.poll() is None
            time.sleep(0.05)

    def away(self, seconds: float) -> None:
        """Killed, and back after so long with what its log holds."""
        self.kill()
        time.sleep(seconds)
        self.start()

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
