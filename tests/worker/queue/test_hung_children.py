"""Children that hang are found; those that only take their time are not."""

from types import SimpleNamespace
from typing import Any

import pytest

from worker.queue.hung_children import PersistenceCounter, waits_for


def test_what_was_seen_in_every_look_lasts_and_what_was_away_once_begins_anew() -> None:
    lasting: PersistenceCounter[str] = PersistenceCounter(3)
    assert [list(lasting.look(seen)) for seen in ({"a", "b"}, {"a"}, {"a", "b"}, {"b"}, {"b"})] == [
        [],
        [],
        ["a"],
        [],
        ["b"],
    ]


def message(*, accepted: bool = False, ready: bool = False, sent_to: int | None = 7) -> Any:
    process = None if sent_to is None else SimpleNamespace(pid=sent_to)
    result = SimpleNamespace(_accepted=accepted, ready=lambda: ready, _write_to=process)
    return SimpleNamespace(_apply_result=lambda: result)


@pytest.mark.parametrize(
    ("request_", "pid"),
    [
        (message(), 7),
        (message(accepted=True), None),
        (message(ready=True), None),
        (message(sent_to=None), None),
        (SimpleNamespace(_apply_result=None), None),
        (SimpleNamespace(_apply_result=lambda: None), None),
    ],
)
def test_a_child_waits_for_a_message_that_it_was_sent_and_did_not_take_up(
    request_: Any, pid: int | None
) -> None:
    assert waits_for(request_) == pid
