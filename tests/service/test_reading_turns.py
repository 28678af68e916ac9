"""Tenants take turns at the readers."""

import threading
from collections.abc import Callable

import anyio
import pytest
from anyio.lowlevel import checkpoint

from service.reading_turns import ReadingTurns


def served(requests: str, places: int = 1, given_up: str = "") -> str:
    """The tenants in the order in which they are read; each letter is one request of a tenant.

    Requests named by `given_up` are cancelled while they wait.
    """

    async def run() -> str:
        turns, order, go = ReadingTurns(places), list[str](), threading.Event()

        def read(tenant: str) -> None:
            go.wait(10)
            order.append(tenant)

        async with anyio.create_task_group() as group:
            scopes = list[tuple[str, anyio.CancelScope]]()

            async def request(tenant: str, scope: anyio.CancelScope) -> None:
                with scope:
                    await turns.run(tenant, read, tenant)

            for tenant in requests:
                scopes.append((tenant, anyio.CancelScope()))
                group.start_soon(request, *scopes[-1])
                for _ in range(5):
                    await checkpoint()
            for tenant, scope in scopes[places:]:
                if tenant in given_up:
                    scope.cancel()
            for _ in range(5):
                await checkpoint()
            go.set()
        assert turns._free == places
        assert turns._lines == {}
        return "".join(order)

    return anyio.run(run)


def test_another_tenant_waits_for_one_upload_and_not_for_the_whole_line() -> None:
    assert served("aaaaab") == "aabaaa"
    assert served("aaabbbc") == "aabcabb"


def test_one_tenant_alone_is_served_in_order_by_all_readers() -> None:
    assert served("aaaa") == "aaaa"
    assert sorted(served("aaab", places=2)) == list("aaab")


def test_those_who_give_up_leave_the_line() -> None:
    assert served("aabbb", given_up="b") == "aa"
    assert served("abab", given_up="a") == "abb"


def test_a_reader_that_fails_passes_its_place_on() -> None:
    async def run(fail: Callable[[], None]) -> None:
        turns = ReadingTurns(1)
        for _ in range(2):
            with pytest.raises(ZeroDivisionError):
                await turns.run("a", fail)

    def fail() -> None:
        raise ZeroDivisionError

    anyio.run(run, fail)
