"""Upload trajectories, follow the job, print the model, over plain HTTP with httpx and rich.

.venv/bin/python examples/identify.py examples/double_well.csv --url http://127.0.0.1:8000
"""

import argparse
import math
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

try:
    import httpx
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.table import Table
except ImportError as missing:
    sys.exit(
        f"{missing}. This example needs httpx and rich, which the checkout's own Python has:\n"
        "  sh scripts/install && .venv/bin/python examples/identify.py …"
    )

TERMINAL = {"succeeded", "failed", "cancelled"}
console = Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else 110)


class Refused(Exception):
    """The service said no, and why."""


def answer(response: httpx.Response) -> dict[str, Any]:
    """The JSON body of a success. Raises Refused with the problem's detail, places and hints."""
    if response.is_success:
        body: dict[str, Any] = response.json()
        return body
    if "json" not in response.headers.get("content-type", ""):
        raise Refused(f"{response.status_code} {response.reason_phrase}")
    raise Refused(in_words(response.json()))


def in_words(problem: dict[str, Any]) -> str:
    """An RFC 9457 problem as lines of text."""
    lines = [f"{problem['title']}: {problem['detail']}"]
    lines += [
        f"  at {error['pointer']}: {error['detail']}"
        for error in problem.get("errors", [])
        if error.get("pointer")
    ]
    lines += [f"  try: {hint}" for hint in problem.get("hints", [])]
    return "\n".join(lines)


def upload(client: httpx.Client, file: Path, dt: float | None) -> dict[str, Any]:
    """Send the file; the dataset, with the report of what was read."""
    layout = {} if dt is None else {"dt": str(dt)}
    with file.open("rb") as body:
        return answer(client.post("/v1/datasets", params=layout, files={"file": (file.name, body)}))


def follow(client: httpx.Client, job: dict[str, Any]) -> dict[str, Any]:
    """Ask for the job until it is over, with a progress bar."""
    columns = (
        TextColumn("{task.description:<24}"),
        BarColumn(40),
        TextColumn("{task.percentage:3.0f} %"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=False) as bar:
        task = bar.add_task(job["state"], total=1.0)
        while job["state"] not in TERMINAL:
            time.sleep(0.1)
            job = answer(client.get(f"/v1/jobs/{job['id']}"))
            bar.update(
                task, completed=job["progress"]["fraction"], description=job["progress"]["stage"]
            )
        bar.update(
            task, completed=1.0 if job["state"] == "succeeded" else None, description=job["state"]
        )
    if job["state"] != "succeeded":
        raise Refused(in_words(job["error"]) if job.get("error") else f"the job was {job['state']}")
    return job


def identify(client: httpx.Client, file: Path, dt: float | None) -> dict[str, Any]:
    """From the file to the result document."""
    dataset = upload(client, file, dt)
    report = dataset["report"]
    variables, trajectories = ", ".join(map(name_of, report["variables"])), report["n_trajectories"]
    console.print(
        f"{file.name} is {dataset['id']}: {report['n_samples']} samples of {variables}", end=" "
    )
    console.print(
        f"in {trajectories} {'trajectory' if trajectories == 1 else 'trajectories'}, "
        f"dt = {report['dt']['median']:g}"
    )
    show_warnings(report["warnings"])
    job = answer(client.post("/v1/jobs", json={"kind": "identification", "dataset": dataset["id"]}))
    job = follow(client, job)
    return answer(client.get(f"/v1/jobs/{job['id']}/result"))


def show(result: dict[str, Any]) -> None:
    """The model, then what its generator says."""
    model, generator = result["model"], result["generator"]
    # Of second order, the first half of the variables are positions, the others their velocities.
    positions = len(model["drift"]) // 2 if model["order"] == 2 else 0
    for place, (name, drift) in enumerate(model["drift"].items()):
        if place < positions:
            console.print(f"\n  d{name} = {list(model['drift'])[place + positions]} dt")
            continue
        console.print(f"\n  d{name} = b dt + sqrt(a) dW")
        console.print(f"  b({name}) = {drift['expression']}")
    for pair, diffusion in model["diffusion"].items():
        console.print(f"  a({pair.split(',')[0]}) = {diffusion['expression']}\n")
    show_terms(model)

    if generator["ergodic"] is False:
        console.print(f"\nNo stationary distribution: {generator['reason']}")
    facts = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    if generator.get("spectrum") and generator["spectrum"]["eigenvalues"]:
        rate = generator["spectrum"]["eigenvalues"][0]
        interval = (
            [1 / bound for bound in reversed(rate["ci"])]
            if rate.get("ci") and all(b > 0 for b in rate["ci"])
            else None
        )
        facts.add_row(
            "relaxation time",
            *estimate(generator["spectrum"]["relaxation_times"][0], interval),
        )
    for passage in generator["passages"]:
        exact, kramers = passage["mean_time"], passage["kramers"]
        label = f"escape time {place_of(passage['from'])} → {place_of(passage['to'])}"
        facts.add_row(
            label,
            *estimate(exact["value"], exact.get("ci")),
            f"Kramers' formula: {estimate(kramers['value'], kramers.get('ci'))[0]}",
            f"{passage['transitions']} transitions in the data",
        )
    stationary = generator.get("stationary")
    if stationary:
        mean, variance = stationary["mean"][0], stationary["covariance"][0][0]
        if mean is not None and variance is not None and abs(mean) < 1e-9 * variance**0.5:
            mean = 0.0  # by symmetry, up to rounding
        facts.add_row("stationary mean", *estimate(mean, first(stationary.get("mean_ci"))))
        variance_interval = first(first(stationary.get("covariance_ci")))
        facts.add_row("stationary variance", *estimate(variance, variance_interval))
        if stationary.get("kurtosis"):
            kurtosis_interval = first(stationary.get("kurtosis_ci"))
            facts.add_row(
                "stationary kurtosis", *estimate(stationary["kurtosis"][0], kurtosis_interval)
            )
    if facts.row_count:
        console.print()
        console.print(facts)
    show_warnings(result["warnings"])


def place_of(place: Any) -> str:
    """A number, a point, or a region without its open ends."""
    if isinstance(place, dict):
        bounded = {name: ends for name, ends in place.items() if set(ends) != {None}}
        return " ".join(
            f"{name} in [{', '.join('open' if end is None else f'{end:.3g}' for end in ends)}]"
            for name, ends in bounded.items()
        )
    return f"{place:.3g}" if isinstance(place, int | float) else str(place)


def show_terms(model: dict[str, Any]) -> None:
    """Coefficients of the terms that were kept."""
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for heading in ("function", "term"):
        table.add_column(heading)
    for heading in ("value", "± std. error", "95 % interval"):
        table.add_column(heading, justify="right")
    components = [(f"drift b of {name}", part) for name, part in model["drift"].items()]
    components += [(f"diffusion a of {name}", part) for name, part in model["diffusion"].items()]
    for label, component in components:
        for term in component["terms"]:
            if term["active"]:
                value, error = number(term["value"]), ""
                if term.get("std_error"):
                    both = [term["value"], term["std_error"]]
                    value, error = rounded(both, term["std_error"])
                _, interval = estimate(term["value"], term.get("ci"))
                table.add_row(label, term["term"], value, error and f"± {error}", interval)
                label = ""
    console.print(table)


def show_warnings(warnings: list[dict[str, Any]]) -> None:
    """Each warning in its own words."""
    for warning in warnings:
        console.print(f"warning: {warning['message']} ({warning['code']})", soft_wrap=True)


def name_of(variable: dict[str, Any]) -> str:
    """`x`, or `x (voltage)` where the column had a name of its own."""
    column = variable.get("column")
    return (
        f"{variable['name']} ({column})"
        if column and column != variable["name"]
        else str(variable["name"])
    )


def number(value: float | None) -> str:
    """Four significant digits, or a dash."""
    return "-" if value is None else f"{value:.4g}"


def rounded(values: list[float], error: float) -> list[str]:
    """Values to the second significant digit of an error, as the service's page writes them."""
    places = max(0, 1 - math.floor(math.log10(float(f"{error:.1e}"))))
    return [f"{value:.{places}f}" for value in values]


def estimate(value: float | None, ends: Any) -> tuple[str, str]:
    """A number and its interval, with two digits of half the interval's width."""
    if value is None or not ends or None in ends or not ends[0] < ends[1]:
        return number(value), ""
    shown, low, high = rounded([value, *ends], (ends[1] - ends[0]) / 2)
    end = {high: "upper", low: "lower"}.get(shown)
    shown = shown if shown.strip("-0.") else "0"
    return shown, f"{low} to {high}{f' (the estimate is its {end} end)' if end else ''}"


def first(values: Any) -> Any:
    """The first element, or None where there is none."""
    return values[0] if values else None


def main() -> int:
    """Exit status: 0 a model was printed, 1 it was refused, 130 interrupted."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path, help="CSV, JSON, NPY, NPZ, Parquet or Arrow")
    parser.add_argument("--url", default="http://127.0.0.1:8000")
    parser.add_argument(
        "--dt", type=float, help="sampling interval, for files without a time column"
    )
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # leave the terminal tidy
    key = os.environ.get(
        "ITOSCOPE_API_KEY"
    )  # not an argument, which every user of the machine could read
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        with httpx.Client(base_url=options.url, headers=headers, timeout=60.0) as client:
            show(identify(client, options.file, options.dt))
        return 0
    except (Refused, httpx.HTTPError, OSError) as error:
        print(f"identify: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
