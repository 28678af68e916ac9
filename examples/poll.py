"""A minimal client that polls: submit a file, wait for the job, print parts of its result as JSON.

.venv/bin/python examples/poll.py examples/double_well.csv        ITOSCOPE_URL, ITOSCOPE_API_KEY
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

import httpx

key = os.environ.get("ITOSCOPE_API_KEY")
client = httpx.Client(
    base_url=os.environ.get("ITOSCOPE_URL", "http://127.0.0.1:8000"),
    headers={"Authorization": f"Bearer {key}"} if key else {},
    timeout=90,
)
file = Path(sys.argv[1])
answer = client.post(
    "/v1/jobs",
    files={"file": (file.name, file.read_bytes())},
    data={"job": '{"kind": "identification"}'},
)
while answer.is_success and answer.json()["state"] in ("queued", "running"):
    answer = client.get(f"/v1/jobs/{answer.json()['id']}", headers={"Prefer": "wait=60"})
if answer.is_error or answer.json()["state"] != "succeeded":
    sys.exit(answer.text)
result = client.get(answer.json()["links"]["result"]).json()


def short(value: Any) -> Any:
    """Round every number to five digits."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {key: short(item) for key, item in value.items()}
    return [short(item) for item in value] if isinstance(value, list) else value


generator = result["generator"]
for name, shown in (
    ("drift", [term for term in result["model"]["drift"]["x"]["terms"] if term["active"]]),
    ("relaxation times", (generator["spectrum"] or {}).get("relaxation_times", [])[:2]),
    ("escape time", generator["passages"][0]["mean_time"] if generator["passages"] else None),
    ("warnings", result["warnings"]),
):
    print(name, json.dumps(short(shown), indent=1))
