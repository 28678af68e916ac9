"""A minimal client that polls: submit a file, wait for the job, print parts of its result as JSON.

python3 examples/poll.py examples/double_well.csv        ITOSCOPE_URL, ITOSCOPE_API_KEY

It needs only Python's standard library.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import Request, urlopen

URL = os.environ.get("ITOSCOPE_URL", "http://127.0.0.1:8000")
KEY = os.environ.get("ITOSCOPE_API_KEY")


def ask(path: str, body: bytes | None = None, **headers: str) -> Any:
    """Send a GET, or a POST of the body, and return the JSON of the answer."""
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    if KEY:
        given["Authorization"] = f"Bearer {KEY}"
    try:
        with urlopen(Request(URL + path, body, given), timeout=90) as answer:
            return json.load(answer)
    except HTTPError as refusal:
        sys.exit(refusal.read().decode())
    except URLError as error:
        sys.exit(f"{URL} does not answer ({error.reason}). Start it with: sh scripts/serve")


def short(value: Any) -> Any:
    """Round every number to five digits."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {key: short(item) for key, item in value.items()}
    return [short(item) for item in value] if isinstance(value, list) else value


if len(sys.argv) != 2:
    sys.exit(__doc__)
file = Path(sys.argv[1])
if not file.is_file():
    sys.exit(f"There is no file {file}")
named = f"attachment; filename*=UTF-8''{quote(file.name)}"
dataset = ask(
    "/v1/datasets",
    file.read_bytes(),
    Content_Type="application/octet-stream",
    Content_Disposition=named,
)
job = ask(
    "/v1/jobs",
    json.dumps({"kind": "identification", "dataset": dataset["id"]}).encode(),
    Content_Type="application/json",
)
while job["state"] in ("queued", "running"):
    job = ask(f"/v1/jobs/{job['id']}", Prefer="wait=60")
if job["state"] != "succeeded":
    sys.exit(json.dumps(job["error"] or job["state"], indent=1, ensure_ascii=False))
result = ask(job["links"]["result"])

generator = result["generator"]
drift = result["model"]["drift"]["x"]["terms"]
for name, shown in (
    ("drift", [term for term in drift if term["active"]]),
    ("relaxation times", (generator["spectrum"] or {}).get("relaxation_times", [])[:2]),
    ("escape time", generator["passages"][0]["mean_time"] if generator["passages"] else None),
    ("warnings", result["warnings"]),
):
    print(name, json.dumps(short(shown), indent=1))
