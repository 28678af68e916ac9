"""What `docker-compose.yml` promises, and that `docs/operations.md` has the same Redis account."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from storage.redis.acl import HEALTH_USER, RIGHTS

ROOT = Path(__file__).resolve().parents[1]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = [name for name in SERVICES if name != "redis"]


@pytest.mark.parametrize("name", SERVICES)
def test_every_container_is_locked_down(name: str) -> None:
    container = SERVICES[name]
    assert container["read_only"] is True
    assert container["cap_drop"] == ["ALL"]
    assert container["security_opt"] == ["no-new-privileges:true"]
    assert not container.get("privileged")
    assert "mem_limit" in container
    assert "pids_limit" in container
    assert {"max-size", "max-file"} <= container["logging"]["options"].keys()
    assert container["restart"] in ("unless-stopped", "on-failure")


def test_only_redis_has_capabilities_and_only_those_its_entrypoint_needs_to_leave_root() -> None:
    assert [name for name in SERVICES if "cap_add" in SERVICES[name]] == ["redis"]
    assert set(SERVICES["redis"]["cap_add"]) <= {"CHOWN", "DAC_OVERRIDE", "SETGID", "SETUID"}


@pytest.mark.parametrize("name", OURS)
def test_our_containers_run_as_the_images_user(name: str) -> None:
    assert "user" not in SERVICES[name]
    assert "USER 10001:10001" in (ROOT / "Dockerfile").read_text()


def test_redis_forgets_nothing() -> None:
    command = SERVICES["redis"]["command"]
    said = dict(zip(command[1::2], command[2::2], strict=True))
    durable = {
        "--appendonly": "yes",
        "--appendfsync": "always",
        "--save": "",
        "--maxmemory-policy": "noeviction",
    }
    assert durable.items() <= said.items()
    assert "redis:/data" in SERVICES["redis"]["volumes"]


def test_redis_knows_only_the_users_of_its_file_and_is_not_published() -> None:
    redis = SERVICES["redis"]
    assert redis["command"][-2:] == ["--aclfile", "/access/users.acl"]
    assert "access:/access:ro" in redis["volumes"]
    assert "ports" not in redis
    check = redis["healthcheck"]["test"]
    assert check[check.index("--user") + 1] == HEALTH_USER


def test_the_service_is_published_on_this_machine_only() -> None:
    published = [port for container in SERVICES.values() for port in container.get("ports", [])]
    assert published == ["127.0.0.1:8000:8000"]


def test_no_secret_is_in_the_file_or_in_a_variable() -> None:
    for name, container in SERVICES.items():
        for variable, value in container.get("environment", {}).items():
            assert variable.startswith("ITOSCOPE_"), name
            assert "REDIS_URL" not in variable, name
            assert "://" not in str(value), name
    assert "@redis" not in (ROOT / "docker-compose.yml").read_text()


@pytest.mark.parametrize("name", ["service", "worker", "worker-small"])
def test_service_and_workers_read_the_secret_and_wait_for_its_maker(name: str) -> None:
    container = SERVICES[name]
    assert container["environment"]["ITOSCOPE_SECRETS_DIR"] == "/secrets"
    assert "secrets:/secrets:ro" in container["volumes"]
    assert container["depends_on"]["init"] == {"condition": "service_completed_successfully"}
    assert "healthcheck" in container


def test_only_the_maker_may_write_secrets_and_only_service_and_workers_read_them() -> None:
    mounted = {
        name: [place for place in SERVICES[name]["volumes"] if place.startswith("secrets:")]
        for name in SERVICES
    }
    assert mounted.pop("init") == ["secrets:/secrets"]
    assert mounted.pop("redis") == []
    assert all(places == ["secrets:/secrets:ro"] for places in mounted.values())


def test_the_worker_has_more_time_to_stop_than_its_job_to_finish() -> None:
    from worker.queue.app import SOFT_SHUTDOWN_SECONDS

    assert (
        float(SERVICES["worker"]["stop_grace_period"].removesuffix("s"))
        > SOFT_SHUTDOWN_SECONDS + 10
    )


def test_a_plain_up_starts_what_has_no_profile_and_every_volume_is_declared() -> None:
    assert {name for name in SERVICES if "profiles" not in SERVICES[name]} == {
        "init",
        "redis",
        "service",
        "worker",
    }
    used = {
        place.partition(":")[0] for container in SERVICES.values() for place in container["volumes"]
    }
    assert used == set(COMPOSE["volumes"])


def test_the_image_makes_every_folder_that_a_volume_of_ours_is_mounted_on() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text()
    folders = {place.split(":")[1] for name in OURS for place in SERVICES[name]["volumes"]}
    for folder in folders:
        assert f" {folder}" in dockerfile.partition("chown 10001:10001")[2].partition("\n")[0]


def test_the_documented_rights_are_those_in_use() -> None:
    assert RIGHTS in (ROOT / "docs" / "operations.md").read_text().replace("\\\n  ", "")
