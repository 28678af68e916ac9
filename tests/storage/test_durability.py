"""A server that may forget is refused."""

from collections.abc import Iterator

import pytest
from redis import Redis

from storage.redis.connection import WeakDurability, check_durability, connect
from storage.stores import StoreUnavailable


@pytest.fixture
def admin(empty_redis_url: str) -> Iterator[Redis]:
    """An administrator of the session's server, whose settings come back afterwards."""
    with Redis.from_url(empty_redis_url, decode_responses=True) as client:
        yield client
        client.config_set("appendonly", "yes")
        client.config_set("appendfsync", "always")
        client.config_set("maxmemory-policy", "noeviction")


def test_a_durable_server_is_accepted_with_and_without_the_right_to_read_its_configuration(
    admin: Redis, restricted_url: str
) -> None:
    check_durability(admin)
    check_durability(connect(restricted_url))


@pytest.mark.parametrize(
    ("setting", "weak"), [("appendonly", "no"), ("maxmemory-policy", "allkeys-lru")]
)
def test_a_server_that_may_forget_is_refused_unless_told_otherwise(
    admin: Redis, restricted_url: str, setting: str, weak: str
) -> None:
    admin.config_set(setting, weak)
    for client in (admin, connect(restricted_url)):
        with pytest.raises(WeakDurability, match=f"{setting} .*ITOSCOPE_ALLOW_WEAK_DURABILITY"):
            check_durability(client)
        check_durability(client, allow_weak=True)


def test_a_server_that_syncs_once_a_second_is_refused_where_that_can_be_seen(admin: Redis) -> None:
    admin.config_set("appendfsync", "everysec")
    with pytest.raises(WeakDurability, match="appendfsync is everysec"):
        check_durability(admin)


def test_a_server_that_does_not_answer_is_unavailable() -> None:
    with pytest.raises(StoreUnavailable):
        check_durability(connect("redis://127.0.0.1:1/0"))


@pytest.mark.parametrize(("loading", "verdict"), [(1, StoreUnavailable), (0, WeakDurability)])
def test_a_server_that_reads_its_log_says_that_it_has_none_and_is_not_believed(
    admin: Redis, monkeypatch: pytest.MonkeyPatch, loading: int, verdict: type[Exception]
) -> None:
    facts = admin.info() | {"loading": loading, "aof_enabled": 0}
    monkeypatch.setattr(admin, "info", lambda: facts)
    with pytest.raises(verdict):
        check_durability(admin)
