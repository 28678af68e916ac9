"""The client against a whole installation, and how it says what went wrong."""

import asyncio
import inspect
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from itoscope_client import (
    AsyncClient,
    Client,
    Conflict,
    Gone,
    InputError,
    InvalidAnswer,
    InvalidRequest,
    JobCancelled,
    JobFailed,
    NotFound,
    Problem,
    Retries,
    Sweep,
    TooLarge,
    Unauthorized,
    Unreachable,
    UnreadableData,
    WaitingTimedOut,
)  # fmt: skip
from itoscope_client.progress import ProgressBar, line
from tests.acceptance.served import ROOT, Served

DOUBLE_WELL = {"drift": {"x": {"x": 1.0, "x^3": -1.0}}, "diffusion": {"x,x": {"1": 0.25}}}


class TestInstallation:
    def test_from_an_array_to_the_model_and_its_passages(self, client: Client) -> None:
        x = np.loadtxt(ROOT / "examples" / "double_well.csv", delimiter=",", skiprows=1)[:, 1]
        model = client.identify(x, dt=0.05, labels={"experiment": "trap-17"}, progress=False)
        assert model.names == ("b_x: x", "b_x: x^3", "a_xx: 1")
        assert (np.abs(model.values - [1, -1, 0.25]) < 4 * model.std_errors).all()
        np.testing.assert_allclose(
            model.drift([0.0, 0.5]), [0.0, 0.5 * model.values[0] + 0.125 * model.values[1]]
        )
        assert client.jobs(labels={"experiment": "trap-17"})[0]["id"] == model.job_id
        # Not in the result, so the service is asked: between the wells it takes about as long as
        # from a little beyond them.
        wells = float(model.passages[0])
        assert wells < float(model.passage(-1, 1)) < 1.05 * wells

    def test_a_model_by_its_terms_has_its_known_times(self, client: Client) -> None:
        model = client.analyse(DOUBLE_WELL, progress=False)
        assert model.relaxation_times[0] == pytest.approx(17.60, abs=0.01)
        assert float(client.passage(model, -1, 1)) == pytest.approx(41.03, abs=0.01)

    def test_a_window_moved_along_a_record(self, client: Client, served: Served) -> None:
        x = np.loadtxt(ROOT / "examples" / "double_well.csv", delimiter=",", skiprows=1)[:, 1]
        rolling = client.roll(x, dt=0.05, windows={"count": 3, "share": 0.5}, progress=False)
        np.testing.assert_allclose(
            rolling.times,
            np.linspace(rolling.ends[0] / 2, rolling.ends[-1] - rolling.ends[0] / 2, 3),
        )
        for gap, time in zip(rolling.gaps, rolling.relaxation_times, strict=True):
            assert gap.ci is not None
            assert float(gap) == pytest.approx(1 / float(time))
            assert float(gap.ci[0] or 0) < float(gap) < float(gap.ci[1] or 0)
        values, errors = rolling.coefficient("x^3")
        assert (np.abs(values + 1) < 5 * errors).all()
        assert (np.abs(rolling.coefficient("1", "diffusion")[0] - 0.25) < 0.02).all()
        with pytest.raises(LookupError, match="x, x\\^3"):
            rolling.coefficient("x^2")
        frame = rolling.to_frame()
        assert list(frame["gap"]) == [float(gap) for gap in rolling.gaps]
        assert list(frame["drift x^3"]) == list(values)
        assert rolling.trend["reason"] is not None, "two windows that share no sample are no trend"

        async def the_same() -> list[float]:
            async with AsyncClient(served.url) as client:
                found = await client.roll(
                    x, dt=0.05, windows={"count": 3, "share": 0.5}, progress=False
                )
                return [float(gap) for gap in found.gaps]

        assert asyncio.run(the_same()) == [float(gap) for gap in rolling.gaps]

    def test_what_has_no_single_window_is_refused_before_the_job(self, client: Client) -> None:
        x = np.random.default_rng(3).normal(size=(200, 2))
        before = [job["id"] for job in client.jobs(kind="rolling")]
        both = {"position": x[:, 0], "speed": x[:, 1]}
        names = ["position", "speed"]
        with pytest.raises(InvalidRequest, match=r"one variable, .* has 2: position, speed") as two:
            client.roll(both, dt=0.1, state_columns=names, progress=False)
        assert two.value.hints == (
            "Upload the data again with one column: state_columns=position.",
        )
        with pytest.raises(InvalidRequest, match="one trajectory, and the dataset has 2"):
            client.roll([x[:, 0], x[:, 1]], dt=0.1, progress=False)
        assert [job["id"] for job in client.jobs(kind="rolling")] == before

    def test_one_record_under_several_sets_of_parameters(
        self, client: Client, served: Served
    ) -> None:
        x = np.loadtxt(ROOT / "examples" / "double_well.csv", delimiter=",", skiprows=1)[:2000, 1]
        over = [{}, {"library": {"polynomial_degree": 2}}, {"library": {"extra_terms": ["log(x)"]}}]
        seed = {"seed": 3}
        sweep = client.sweep(x, dt=0.05, over=over, parameters=seed, progress=False)
        assert (len(sweep), list(sweep.over)) == (3, over)
        alone = client.identify(x, dt=0.05, parameters=seed, progress=False)
        assert sweep[0].equations == alone.equations
        assert (
            sweep[0].document["provenance"]["parameters"]
            == alone.document["provenance"]["parameters"]
        )
        assert sweep[1].names == ("b_x: x", "a_xx: 1")
        assert sweep[1].document["provenance"]["parameters"]["library"]["polynomial_degree"] == 2
        with pytest.raises(JobFailed, match=r"log\(x\)"):
            sweep[2]
        assert (sweep.models[2], sweep.errors[0]) == (None, None)
        # Neither is in the result: the service is asked about the model's terms, for the job has
        # several.
        asked, known = sweep[0].passage(-1, 1), alone.passage(-1, 1)
        assert float(asked) == pytest.approx(float(known), rel=1e-4)
        frame = sweep.to_frame()
        assert list(frame["library.polynomial_degree"].fillna(0)) == [0, 2, 0]
        assert frame["relaxation_time"][0] == alone.relaxation_times[0]
        low, high = frame[["relaxation_time_low", "relaxation_time_high"]].iloc[0]
        assert low < alone.relaxation_times[0] < high
        assert "log(x)" in frame["error"][2]
        assert "polynomial_degree = 2" in repr(sweep)
        assert "<code>library.polynomial_degree = 2" in sweep._repr_html_()

        async def the_same() -> Sweep:
            async with AsyncClient(served.url) as client:
                return await client.sweep(
                    x,
                    dt=0.05,
                    over=over[:1],
                    parameters=seed,
                    analysis={"model_only": True},
                    progress=False,
                )

        assert asyncio.run(the_same())[0].equations == sweep[0].equations
        with pytest.raises(InputError, match="list of parameters"):
            client.sweep(x, dt=0.05, over={"library": {"polynomial_degree": 3}})  # type: ignore[arg-type]

    def test_asynchronously_the_same(self, served: Served) -> None:
        async def both() -> list[float]:
            async with AsyncClient(served.url) as client:
                models = [
                    client.analyse(
                        {"drift": {"x": {"x": -k}}, "diffusion": {"x,x": {"1": 1.0}}},
                        progress=False,
                    )
                    for k in (1.0, 2.0)
                ]
                return [float(model.relaxation_times[0]) for model in await asyncio.gather(*models)]

        assert asyncio.run(both()) == pytest.approx([1.0, 0.5], rel=1e-4)

    def test_a_failed_job_says_why_and_what_to_try(self, client: Client) -> None:
        with pytest.raises(JobFailed) as failed:
            client.identify([0.0, 0.3, -0.1, 0.2], dt=1.0, progress=False)
        assert (failed.value.code, bool(failed.value.hints)) == ("too-few-samples", True)
        assert failed.value.job_id.startswith("job_")

    def test_an_upload_is_read_again_under_another_layout(self, client: Client) -> None:
        first = client.upload(np.random.default_rng(0).normal(size=(50, 2)), dt=1)
        again = client.read(
            first["id"], state_columns="2", dt=0.5, state_names={2: "force"}, state_unit={2: "pN"}
        )
        assert len(first["report"]["variables"]) == 2
        (read,) = again["report"]["variables"]
        assert (read["column"], read["symbol"], read["unit"]) == ("column 2", "force", "pN")
        assert again["report"]["dt"]["median"] == 0.5
        assert again["sha256"] == first["sha256"]

    def test_refusals_are_types_with_the_place_and_hints(
        self, client: Client, tmp_path: Path
    ) -> None:
        with pytest.raises(InvalidRequest) as refused:
            client.validate(
                {"kind": "generator", "model": DOUBLE_WELL, "analysis": {"eigenpairs": 0}}
            )
        assert refused.value.errors[0].pointer == "#/analysis/eigenpairs"
        (tmp_path / "slip.csv").write_text("t,x\n0,1.0\n1,1.5\n2,1.2\n3,oops\n4,1.1\n")
        with pytest.raises(UnreadableData, match="oops"):
            client.upload(tmp_path / "slip.csv")
        with pytest.raises(NotFound):
            client.job("job_0000000000")


class TestShells:
    def test_both_clients_have_the_same_methods_and_arguments(self) -> None:
        def methods(kind: type) -> dict[str, list[str]]:
            public = {
                name: value
                for name, value in inspect.getmembers(kind, callable)
                if not name.startswith("_")
            }
            return {name: [*inspect.signature(value).parameters] for name, value in public.items()}

        assert methods(Client) == methods(AsyncClient)
        assert len(methods(Client)) > 15
        assert methods(Client)["analyse"] == [
            "self",
            "model",
            "analysis",
            "labels",
            "timeout_seconds",
            "timeout",
            "progress",
        ]


def answering(
    *answers: httpx.Response | BaseException,
    seen: list[httpx.Request] | None = None,
    **options: Any,
) -> Client:
    """A client to whom these answers are given, one after the other."""
    left = [*answers]

    def answer(request: httpx.Request) -> httpx.Response:
        if seen is not None:
            seen.append(request)
        given = left.pop(0)
        if isinstance(given, BaseException):
            raise given
        return given

    return Client(
        "http://service",
        transport=httpx.MockTransport(answer),
        **{"retries": Retries(base=0.001), **options},
    )


def problem(status: int, code: str) -> httpx.Response:
    body = {
        "code": code,
        "title": "No",
        "status": status,
        "detail": "because",
        "hints": ["Try this."],
    }
    return httpx.Response(status, json=body, headers={"X-Request-Id": "r1", "Retry-After": "7"})


class TestErrors:
    @pytest.mark.parametrize(
        ("status", "code", "kind"),
        [
            (401, "unauthorized", Unauthorized), (403, "forbidden", Unauthorized),
            (404, "not-found", NotFound), (410, "gone", Gone), (409, "job-failed", Conflict),
            (413, "body-too-large", TooLarge), (507, "storage-full", TooLarge),
            (415, "unsupported-media-type", UnreadableData),
            (422, "layout-mismatch", UnreadableData), (422, "invalid-request", InvalidRequest),
        ],
    )  # fmt: skip
    def test_every_refusal_has_its_type(self, status: int, code: str, kind: type[Problem]) -> None:
        with pytest.raises(kind, match=rf"because \({code}\)\n  try: Try this") as refused:
            answering(problem(status, code)).job("job_x")
        assert type(refused.value) is kind
        assert (refused.value.status, refused.value.request_id) == (status, "r1")

    def test_retry_after_is_honoured_and_patience_has_an_end(self) -> None:
        with pytest.raises(Problem) as busy:
            answering(problem(429, "too-many-requests"), retries=Retries(patience=5)).job("job_x")
        assert busy.value.retry_after == 7
        assert Retries(draw=lambda: 0.5).pause(1, 0.0, problem(503, "queue-full")) == 7 + 0.25

    def test_pauses_are_drawn_between_zero_and_a_growing_bound(self) -> None:
        full, none = Retries(draw=lambda: 1.0), Retries(draw=lambda: 0.0)
        assert [full.pause(n, 0, None) for n in (1, 2, 3, 8)] == [0.5, 1.0, 2.0, 30.0]
        assert none.pause(3, 0, None) == 0
        assert full.pause(10, 0, None) is None

    def test_a_page_of_something_else_is_no_answer(self) -> None:
        with pytest.raises(InvalidAnswer, match="the address of Itoscope"):
            answering(httpx.Response(200, text="<html>")).job("job_x")

    def test_who_does_not_answer_is_named(self) -> None:
        with pytest.raises(Unreachable, match=r"tried 2 times\): refused.*ITOSCOPE_URL"):
            answering(
                *2 * [httpx.ConnectError("refused")], retries=Retries(attempts=2, base=0)
            ).jobs()

    def test_an_address_where_nobody_ever_answered_is_given_up_soon(self) -> None:
        with pytest.raises(Unreachable, match="tried 4 times"):
            answering(*20 * [httpx.ConnectError("refused")]).jobs()
        known = answering(
            httpx.Response(200, json={"id": "job_x"}), *20 * [httpx.ConnectError("refused")]
        )
        known.job("job_x")
        with pytest.raises(Unreachable, match="tried 10 times"):
            known.job("job_x")

    def test_an_address_that_is_none_is_refused(self) -> None:
        with pytest.raises(InputError, match="https://"):
            Client("localhost:8000")

    def test_the_key_comes_from_the_environment_and_is_not_shown(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("ITOSCOPE_API_KEY", "secret-key\n")
        seen: list[httpx.Request] = []
        client = answering(httpx.Response(200, json={"id": "job_x"}), seen=seen)
        client.job("job_x")
        assert seen[0].headers["authorization"] == "Bearer secret-key"
        assert "secret-key" not in repr(client) + repr(vars(client))


RUNNING = {
    "id": "job_x",
    "state": "running",
    "progress": {"fraction": 0.5, "stage": "drift", "message": "Fitting the drift"},
}


class TestWaiting:
    def test_who_interrupts_is_told_how_to_go_on(self) -> None:
        with pytest.raises(KeyboardInterrupt) as stopped:
            answering(httpx.Response(200, json=RUNNING), KeyboardInterrupt()).wait(
                "job_x", progress=False
            )
        assert "client.wait('job_x') or `itoscope watch job_x`" in stopped.value.__notes__[0]

    def test_time_may_run_out_and_the_job_goes_on(self) -> None:
        with pytest.raises(WaitingTimedOut, match="it continues"):
            answering(httpx.Response(200, json=RUNNING)).wait("job_x", timeout=0, progress=False)

    def test_a_cancelled_job_has_no_result(self) -> None:
        with pytest.raises(JobCancelled):
            answering(httpx.Response(200, json={**RUNNING, "state": "cancelled"})).wait(
                "job_x", progress=False
            )

    def test_a_listener_sees_every_record(self) -> None:
        seen: list[Any] = []
        cancelled = httpx.Response(200, json={**RUNNING, "state": "cancelled"})
        answers = [httpx.Response(200, json=RUNNING), problem(404, "not-found"), cancelled]
        assert answering(*answers).watch("job_x", progress=seen.append)["state"] == "cancelled"
        assert [record["state"] for record in seen] == ["running", "cancelled"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("stream", "drawn"), [(Terminal, True), (io.StringIO, False)])
def test_progress_is_drawn_on_terminals_only(
    stream: Callable[[], io.StringIO], drawn: bool
) -> None:
    screen = stream()
    bar = ProgressBar(screen)
    bar(RUNNING)
    bar({**RUNNING, "state": "succeeded"})
    assert ("Fitting the drift" in screen.getvalue()) is drawn
    assert screen.getvalue().endswith("\n") is drawn


def test_the_bar_is_as_long_as_the_job_has_come() -> None:
    assert line(RUNNING, 65.0).endswith("━" * 15 + "─" * 15 + "  50 % 1:05")
