"""Laws of what is done again and again in threads, and of processes that are forked beside it."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from storage.periodic import every
from storage.stores import StoreUnavailable

ROOT = Path(__file__).resolve().parents[2]

FORKS = """
import os, sys, threading, time
from storage import periodic

lock, began = threading.Lock(), threading.Event()

def act():
    with lock:
        began.set()
        time.sleep(0.05)

periodic.every(0.001, "testing", act)
began.wait()
if sys.argv[1] == "by itself":
    periodic._turns.clear()
hung = 0
for _ in range(10):
    child = os.fork()
    if child == 0:
        os._exit(0 if lock.acquire(timeout=0.2) else 1)
    hung += os.waitpid(child, 0)[1] != 0
print(hung)
"""


def hung_children(how: str) -> int:
    """How many of ten children wait in vain for a lock that a thread of their parent holds most of
    the time."""
    ended = subprocess.run(
        [sys.executable, "-c", FORKS, how],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    return int(ended.stdout)


@pytest.mark.slow
def test_no_process_is_forked_while_one_acts() -> None:
    assert hung_children("with the others") == 0


@pytest.mark.slow
def test_beside_a_thread_that_forks_do_not_wait_for_children_hang() -> None:
    assert hung_children("by itself") > 0


def test_the_first_act_waits_for_what_it_is_told_to_wait_for() -> None:
    acted, since = threading.Event(), threading.Event()
    every(60, "testing", acted.set, since=since)
    assert not acted.wait(0.05)
    since.set()
    assert acted.wait(5)


def test_a_loop_acts_once_more_when_it_is_told_to_end_and_does_not_wait_for_its_turn() -> None:
    acts, end = list[bool](), threading.Event()
    thread = every(60, "testing", lambda: acts.append(end.is_set()), until=end)
    end.set()
    thread.join(5)
    assert not thread.is_alive()
    assert acts[-1]


def test_a_loop_goes_on_whatever_happens() -> None:
    enough, errors = (
        threading.Event(),
        iter([StoreUnavailable("away"), ValueError("a fault"), StoreUnavailable("away")]),
    )

    def act() -> None:
        error = next(errors, None)
        if error is not None:
            raise error
        enough.set()

    thread = every(0.01, "testing", act)
    assert enough.wait(5)
    assert thread.daemon
