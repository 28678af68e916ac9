"""What `deploy/` promises: manifests of the right shape, locked down, with the Redis of Compose."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.tools_of_node import run

ROOT = Path(__file__).resolve().parents[1]
DEPLOY = ROOT / "deploy"
MANIFESTS: list[dict[str, Any]] = [
    manifest
    for name in yaml.safe_load((DEPLOY / "kubernetes/kustomization.yaml").read_text())["resources"]
    for manifest in yaml.safe_load_all((DEPLOY / "kubernetes" / name).read_text())
]
PODS = {
    manifest["metadata"]["name"]: manifest["spec"]["template"]["spec"]
    for manifest in MANIFESTS
    if "template" in manifest["spec"]
}


def typescript(manifests: list[dict[str, Any]]) -> str:
    """Each manifest as a constant of its kind's type: a field that is none does not compile."""
    lines = []
    for i, manifest in enumerate(manifests):
        kind, version = manifest["kind"], manifest["apiVersion"]
        package = "@kubernetes-models/keda" if "keda" in version else "kubernetes-models"
        lines.append(f'import type {{ I{kind} as I{i} }} from "{package}/{version}/{kind}";')
        lines.append(f"export const m{i}: I{i} = {json.dumps(manifest)};")
    return "\n".join(lines)


def compiled(manifests: list[dict[str, Any]], folder: Path, ends_with: int = 0) -> str:
    (folder / "manifests.ts").write_text(typescript(manifests), "utf-8")
    options = ("--noEmit", "--strict", "--skipLibCheck", "--moduleResolution", "bundler")
    command = ("npx", "tsc", *options, "--module", "esnext", "manifests.ts")
    return run(*command, folder=folder, ends_with=ends_with)


@pytest.mark.slow
def test_manifests_have_the_fields_of_their_kinds(node: Path) -> None:
    compiled(MANIFESTS, node)
    misspelt = json.loads(json.dumps(MANIFESTS).replace("readOnlyRootFilesystem", "readOnlyRoot"))
    assert "readOnlyRoot" in compiled(misspelt, node, ends_with=2)


@pytest.mark.parametrize("name", PODS)
def test_every_pod_is_locked_down(name: str) -> None:
    pod = PODS[name]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["automountServiceAccountToken"] is False
    # With service links, Kubernetes sets ITOSCOPE_PORT to an address.
    assert pod["enableServiceLinks"] is False
    for container in pod["containers"]:
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert "memory" in container["resources"]["limits"]
        mounts = {mount["name"] for mount in container["volumeMounts"]}
        claims = {"data"} if name == "itoscope-redis" else set()
        assert mounts == {volume["name"] for volume in pod["volumes"]} | claims


def test_redis_has_the_settings_of_compose() -> None:
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]["redis"]
    (container,) = PODS["itoscope-redis"]["containers"]
    assert container["image"] == compose["image"]
    given = [word for word in container["args"] if word not in ("--dir", "/data")]
    assert given == compose["command"]
    assert container["readinessProbe"]["exec"]["command"] == compose["healthcheck"]["test"][1:]


def test_services_and_claims_that_pods_name_are_there() -> None:
    there = {(m["kind"], m["metadata"]["name"]) for m in MANIFESTS}
    for pod in PODS.values():
        for volume in pod["volumes"]:
            if "persistentVolumeClaim" in volume:
                claim = volume["persistentVolumeClaim"]["claimName"]
                assert ("PersistentVolumeClaim", claim) in there
    # The Redis account is made for a host of this name.
    assert ("Service", "redis") in there
    assert ("Service", "itoscope") in there


@pytest.mark.slow
def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("needs systemd-analyze")
    unit = (DEPLOY / "itoscope.service").read_text()
    unit = unit.replace("/opt/itoscope/.venv/bin/python", sys.executable)
    unit = unit.replace("/opt/itoscope", str(tmp_path))

    def complaints(unit: str) -> str:
        (tmp_path / "itoscope.service").write_text(unit)
        command = ("systemd-analyze", "verify", "--man=no", tmp_path / "itoscope.service")
        said = subprocess.run(command, capture_output=True, text=True, timeout=60).stderr
        return "\n".join(line for line in said.splitlines() if "itoscope.service" in line)

    assert complaints(unit) == ""
    assert "StateFolder" in complaints(unit.replace("StateDirectory=", "StateFolder="))
