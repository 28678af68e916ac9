"""The command speaks of its own options and commands where the service speaks of fields."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import click
import numpy as np
import pytest
from click.testing import CliRunner
from pydantic import BaseModel

from contract.base import Document
from contract.datasets import Layout
from contract.generator import AnalysisParameters, ModelTerms
from contract.identification import IdentificationParameters
from contract.rolling import RollingWindows
from itoscope_client.cli.commands import itoscope
from itoscope_client.cli.options import Giving, Parsed
from itoscope_client.cli.words import on_command_line
from itoscope_client.inputs.upload import SEVERAL
from itoscope_client.waiting import how_to_resume
from tests.acceptance.refusals.test_hints import angle, csv
from tests.acceptance.served import ROOT, Served
from tests.client.test_cli import run
from tests.source_texts import texts_of

SAID = [
    (
        'Declare its period, e.g. parameters.periodic {"Phi": 360}, or unwrap it.',
        "Declare its period, e.g. `--periodic Phi=360`, or unwrap it.",
    ),
    (
        "Raise library.polynomial_degree or `parameters.library.extra_terms`.",
        """Raise --degree or `--parameters '{"library": {"extra_terms": …}}'`.""",
    ),
    (
        "Set estimator to 'efficient', or leave sampling_rule out.",
        """Set `--parameters '{"estimator": "efficient"}'`, or leave """
        """`--parameters '{"sampling_rule": …}'` out.""",
    ),
    (
        'Set kernels to "auto", or raise kernels.count.',
        """Set `--parameters '{"kernels": "auto"}'`, or raise """
        """`--parameters '{"kernels": {"count": …}}'`.""",
    ),
    ("omit reflecting_ends", """omit `--analysis '{"reflecting_ends": …}'`"""),
    ("Set axes=td, and give dt.", "Set `--axes td`, and give --dt."),
    ("dt = 1 was assumed. Give dt.", "dt = 1 was assumed. Give --dt."),
    ("choose it with state_columns=[…]", "choose it with `--state-columns …`"),
    ("Give a narrower `domain`.", "Give a narrower --domain."),
    ("no stationary distribution on the domain", "no stationary distribution on the domain"),
    ('did you mean parameters={"seed": …}?', """did you mean `--parameters '{"seed": …}'`?"""),
    ("set 1: library.polynomial_degree = 3: b_x", "set 1: library.polynomial_degree = 3: b_x"),
    ("GET /v1/jobs lists your jobs.", "`itoscope jobs` lists yours."),
    ("POST /v1/jobs/job_1/cancel first.", "`itoscope cancel job_1` first."),
    ("  at #/model/drift/x: no", "  at --drift (x): no"),
    (
        "The job cannot be accepted: #/windows/share is no number.",
        "The job cannot be accepted: --share is no number.",
    ),
    (
        how_to_resume("job_1"),
        "Resume with `itoscope watch job_1`; cancel with `itoscope cancel job_1`.",
    ),
]
OPTIONS = {
    name for command in itoscope.commands.values() for each in command.params for name in each.opts
}


@pytest.mark.parametrize(("written", "said"), SAID)
def test_a_message_has_the_words_of_the_command(written: str, said: str) -> None:
    assert on_command_line(written) == said


LEFT = re.compile(
    r"(?<![\w/\"'])(?:(?:parameters|layout|analysis|windows|library|kernels|selection)\.[a-z_]+"
    r"|/v1/|(?:GET|POST|DELETE) /|Prefer:|Authorization|client\.|[a-z]+_(?:columns?|rule|seconds))"
)
NOT_OF_THE_COMMAND = ("`/v1/schemas` and `/docs` describe", "GET /v1/schemas lists them.")
"""The documents of schemas, which no command asks for."""
FOLDERS = ("worker/identification", "worker/jobs", "worker/generator", "worker/rolling",
           "worker/population", "service/readers", "service/requests", "service/access",
           "service/responses",
           "contract", "storage/stores.py", "client/itoscope_client/inputs",
           "client/itoscope_client/requests")  # fmt: skip


def sentences() -> Iterator[str]:
    """What is printed: the advice of docs/problems.md, and every sentence of the source."""
    for line in (ROOT / "docs" / "problems.md").read_text("utf-8").splitlines():
        if line.startswith("| `"):
            yield line.rpartition(" | ")[2]
    for text in texts_of(*FOLDERS):
        if re.search(r"\w \w+ \w", text):
            yield text


def test_no_message_names_what_the_command_calls_otherwise() -> None:
    """What it names instead exists: the options, the fields in their JSON, and the commands."""
    changed = 0
    for text in sentences():
        if any(known in text for known in NOT_OF_THE_COMMAND):
            continue
        said = on_command_line(text)
        changed += said != text
        assert not LEFT.search(said), said
        # The hint's other readers run the service.
        assert set(re.findall(r"(?<![\w-])--[a-z-]+", said)) - {"--scope"} <= OPTIONS, said
        assert set(re.findall(r"itoscope ([a-z]+)", said)) <= itoscope.commands.keys(), said
    assert changed > 80


def fields_of(model: type[BaseModel], *above: str) -> Iterator[tuple[str, ...]]:
    for name, field in model.model_fields.items():
        inside = [
            each
            for each in (field.annotation, *getattr(field.annotation, "__args__", ()))
            if isinstance(each, type) and issubclass(each, Document)
        ]
        for each in inside[:1]:
            yield from fields_of(each, *above, field.alias or name)
        yield (*above, field.alias or name)


FIELDS = [
    *fields_of(Layout, "layout"),
    *fields_of(IdentificationParameters, "parameters"),
    *fields_of(AnalysisParameters, "analysis"),
    *fields_of(RollingWindows, "windows"),
    *fields_of(ModelTerms, "model"),
    ("timeout_seconds",),
]


@pytest.mark.parametrize("field", FIELDS, ids=".".join)
def test_every_field_has_an_option_or_a_place_in_json(field: tuple[str, ...]) -> None:
    said = on_command_line(f"Change `{'.'.join(field)}` now.").split("`")
    option, *rest = shlex.split(said[1] if len(said) > 1 else said[0].split()[1])
    assert option in OPTIONS
    if rest:
        within = re.findall(r'"(\w+)"', rest[0])
        assert tuple(within) == field[1:]
        assert option == f"--{field[0]}"


class Recording:
    """A client that notes what it was given."""

    def __init__(self, url: str | None) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    given: dict[str, Any]

    def upload(self, file: Path, **layout: Any) -> dict[str, Any]:
        Recording.given = {"layout": layout}
        report = {"variables": [], "n_trajectories": 1, "n_samples": 1, "dt": {"median": 1}}
        return {"id": "ds_1", "report": report}

    def submit(self, job: Mapping[str, Any]) -> dict[str, Any]:
        Recording.given = {**getattr(Recording, "given", {}), **job}
        return {"id": "job_1"}


def sample(option: Giving) -> tuple[Sequence[str], Any]:
    """Arguments of an option, and the value of its field."""
    match option.name, option.type:
        case ("domain", _):
            return ["x=-2,"], {"x": [-2.0, None]}
        case ("periodic", _):
            return ["x=360"], {"x": 360.0}
        case ("state_units" | "state_names", _):
            return ["a=b=nm"], {"a=b": "nm"}
        case ("drift" | "diffusion", _):
            key = "x" if option.name == "drift" else "x,x"
            return ["2*x"], {key: {"x": 2.0}}
        case ("known", _):
            return ["-x + 0.5*x^3"], {"drift": {"x": {"x": -1.0, "x^3": 0.5}}}
        case ("required" | "excluded", _):
            return ["y,y=1, x"], {"diffusion": {"y,y": ["1", "x"]}}
        case ("bounds", _):
            return ["y = x^3 < 0"], {"drift": {"y": {"x^3": [None, 0.0]}}}
        case ("odd" | "gradient", _):
            return [], True
        case ("measurement_error", _):
            return ["x=0.02"], {"x": 0.02}
        case ("passage", _):
            return ["-1", "1"], [{"from": -1.0, "to": 1.0}]
        case ("variants" | "over", _):
            return ['{"seed": 1}'], [{"seed": 1}]
        case (_, Parsed()):
            field = {"parameters": "seed", "analysis": "lags"}[str(option.name)]
            return [f'{{"{field}": 7}}'], {field: 7}
        case (_, click.Choice() as choice):
            return [choice.choices[-1]], choice.choices[-1]
        case (_, click.types.IntRange()):
            return ["3"], 3
        case (_, click.types.FloatParamType()):
            return ["2.5"], 2.5
        case (_, _):
            several = option.name in SEVERAL
            return ["nt"], ["nt"] if several else "nt"


@pytest.mark.parametrize(
    ("command", "option"),
    [
        pytest.param(name, option, id=f"{name} {option.opts[0]}")
        for name in ("identify", "roll", "population", "sweep", "generator")
        for option in itoscope.commands[name].params
        if isinstance(option, Giving)
    ],
)
def test_an_option_gives_the_field_that_it_is_defined_for(
    command: str, option: Giving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("itoscope_client.cli.starting.Client", Recording)
    needed = {
        "identify": ["data.csv"],
        "roll": ["data.csv"],
        "population": ["data.csv"],
        "sweep": ["data.csv", "--over", "{}"],
        "generator": ["--drift", "-x", "--diffusion", "1"],
    }[command]
    if option.opts[0] in needed:
        at = needed.index(option.opts[0])
        needed = needed[:at] + needed[at + 2 :]
    arguments, value = sample(option)
    done = CliRunner().invoke(itoscope, [command, *needed, option.opts[0], *arguments, "--detach"])
    assert done.exit_code == 0, done.output
    found: Any = Recording.given
    for name in option.field.split("."):
        found = found[name]
    assert found == value


def test_options_given_several_times_are_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two hints of one message are followed by two options."""
    monkeypatch.setattr("itoscope_client.cli.starting.Client", Recording)
    kernels = ["--parameters", '{"kernels": {"range": [-1, 1]}}']
    kernels += ["--parameters", '{"kernels": {"bandwidth": 0.1}}']
    done = CliRunner().invoke(
        itoscope, ["identify", "data.csv", "--detach", "--degree", "2", *kernels]
    )
    assert done.exit_code == 0, done.output
    library = {"polynomial_degree": 2}
    both = {"range": [-1, 1], "bandwidth": 0.1}
    assert Recording.given["parameters"] == {"library": library, "kernels": both}


def test_what_is_known_is_said_term_by_term(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("itoscope_client.cli.starting.Client", Recording)
    given = ["--known", "-x", "--known", "x,x=0.25", "--bounds", "0<x^3<2", "--bounds", "x>-1e-3"]
    given += ["--measurement-error", "0.02", "--parameters", '{"constraints": {"odd": true}}']
    done = CliRunner().invoke(itoscope, ["identify", "data.csv", "--detach", *given])
    assert done.exit_code == 0, done.output
    assert Recording.given["parameters"] == {
        "constraints": {
            "known": {"drift": {"x": {"x": -1.0}}, "diffusion": {"x,x": {"1": 0.25}}},
            "bounds": {"drift": {"x": {"x^3": [0.0, 2.0], "x": [-1e-3, None]}}},
            "odd": True,
        },
        "measurement_noise": {"std_error": 0.02},
    }


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--bounds", "x^3"], "no bound"),
        (["--bounds", "x<a"], "no bound"),
        (["--bounds", "0<x>2"], "no bound"),
        (["--required", "x,,y"], "no list of terms"),
        (["--measurement-error", "x=small"], "no number"),
        (["--measurement-error", "0.1", "--measurement-error", "x=0.2"], "NAME= in each"),
    ],
)
def test_what_cannot_be_read_is_said_with_an_example(given: list[str], said: str) -> None:
    done = CliRunner().invoke(itoscope, ["identify", "data.csv", "--detach", *given])
    assert done.exit_code == 2
    assert said in " ".join(done.output.split())


def hinted(stderr: str, beginning: str) -> list[str]:
    """The words of the hint that begins so, ready to be typed."""
    (found,) = re.findall(rf"`({re.escape(beginning)}[^`]*)`", stderr)
    return shlex.split(found)


def test_hints_are_typed_as_they_are_printed(served: Served, tmp_path: Path) -> None:
    n, dt = 3000, 0.05
    wrapped = tmp_path / "angle.csv"
    wrapped.write_bytes(csv(t=np.round(dt * np.arange(n), 2), phi=angle(n, dt)))
    fit = ["identify", str(wrapped), "--quiet", "--analysis", '{"model_only": true}']
    refused = run(served.url, *fit, "--degree", "0")
    assert (refused.exit_code, "wrapped-variable" in refused.stderr) == (3, True)
    harmonic = ["--degree", "0", "--parameters", '{"library": {"fourier_harmonics": 1}}']
    done = run(served.url, *fit, *harmonic, *hinted(refused.stderr, "--periodic"))
    assert done.exit_code == 0, done.output

    file = ["identify", str(ROOT / "examples" / "double_well.csv"), "--quiet"]
    refused = run(served.url, *file, "--axes", "ntd")
    assert refused.exit_code == 1
    assert run(served.url, *file, *hinted(refused.stderr, "--axes td")).exit_code == 0

    rough = ["--parameters", '{"library": {"polynomial_degree": 4}}', "--time-limit", "1"]
    columns = {name: RNG.normal(size=120_000).cumsum().round(3) for name in "xyzw"}
    (tmp_path / "long.csv").write_bytes(csv(t=np.arange(120_000), **columns))
    late = run(served.url, "identify", str(tmp_path / "long.csv"), "--quiet", *rough)
    assert "timed-out" in late.stderr
    assert "Increase --time-limit" in late.stderr


RNG = np.random.default_rng(5)


def test_a_job_is_deleted_as_the_hint_says(served: Served, tmp_path: Path) -> None:
    columns = {name: RNG.normal(size=60_000).cumsum().round(3) for name in "xy"}
    (tmp_path / "long.csv").write_bytes(csv(t=np.arange(60_000), **columns))
    started = run(served.url, "identify", str(tmp_path / "long.csv"), "--detach")
    job = started.stdout.strip()
    assert hinted(started.stderr, "itoscope cancel") == ["itoscope", "cancel", job]
    refused = run(served.url, "delete", job)
    assert "job-not-finished" in refused.stderr
    cancelled = run(served.url, *hinted(refused.stderr, "itoscope cancel")[1:])
    assert cancelled.exit_code == 0
    run(served.url, "watch", job)
    assert run(served.url, "delete", job).stdout == f"{job} is deleted\n"
    gone = run(served.url, "result", job)
    assert "gone" in gone.stderr
    listed = run(served.url, "datasets").stdout
    dataset = next(row.split()[0] for row in listed.splitlines() if "long.csv" in row)
    assert run(served.url, "delete", dataset).stdout == f"{dataset} is deleted\n"
    assert dataset not in run(served.url, "datasets").stdout
    nothing = run(served.url, "read", dataset, "--dt", "2")
    assert hinted(nothing.stderr, "itoscope datasets")


def test_programs_are_told_the_fields(served: Served) -> None:
    done = run(
        served.url,
        "identify",
        str(ROOT / "examples" / "double_well.csv"),
        "--axes",
        "ntd",
        "--json",
    )
    assert "axes=td" in " ".join(json.loads(done.stderr)["hints"])
