"""How long does the analysis of a plane with 100 sampled models take, and how accurate is it?

    python -m benchmarks.plane_analysis [--samples 100] [--checked 4] [--only NAME]

Three models: a rotating Ornstein–Uhlenbeck process (on cells, though it is linear), a double well
coupled to a second coordinate, van der Pol's oscillator with noise. Each is analysed with
everything a job asks for, its passages and committors between wells included; then models whose
coefficients are drawn with standard deviations of 5 % are analysed around it. CPU seconds of one
core; the bar is 20 for both together. Some of the samples are analysed in full as well: the largest
relative deviation of the sampled rates (slowest and next, real part) and passage times from the
full analysis.
"""

import argparse
import sys
import time
from dataclasses import replace

import numpy as np

from contract.generator import ModelTerms
from worker.generator.analysis import Analysis, analyse, analysis
from worker.generator.line.spectrum import matched
from worker.generator.plane.analysis import analysed_in_the_plane
from worker.generator.process import DiffusionProcess
from worker.generator.quantities.passages import Timing
from worker.generator.quantities.report import GeneratorReport
from worker.generator.request import AnalysisRequest
from worker.generator.uncertainty.confidence_intervals import intervals_over
from worker.jobs.parameters import process_of

BAR = 20.0
SCATTER = 0.05
MODELS = {
    "rotating, on cells": {
        "drift": {"x": {"x": -1, "y": 2}, "y": {"x": -2, "y": -1}},
        "diffusion": {"x,x": {"1": 1.0}, "y,y": {"1": 1.0}},
    },
    "coupled double well": {
        "drift": {"x": {"x": -1, "x^3": -1, "y": 2}, "y": {"x": 2, "y": -2}},
        "diffusion": {"x,x": {"1": 0.5}, "y,y": {"1": 0.5}},
    },
    "van der Pol": {
        "drift": {"x": {"y": 1}, "y": {"x": -1, "y": 1, "x^2*y": -1}},
        "diffusion": {"x,x": {"1": 0.1}, "y,y": {"1": 0.1}},
    },
}


def drawn(name: str, seed: int) -> DiffusionProcess:
    """Return a model near the named one; the named one for seed 0."""
    rng = np.random.default_rng(seed)
    factor = 1.0 if seed == 0 else SCATTER
    terms = {
        part: {
            key: {
                term: value * (1.0 if seed == 0 else 1 + factor * rng.normal())
                for term, value in component.items()
            }
            for key, component in components.items()
        }
        for part, components in MODELS[name].items()
    }
    return process_of(ModelTerms.model_validate(terms))


def in_full(name: str, process: DiffusionProcess) -> Analysis:
    """Analyse on cells, whether linear or not."""
    if not name.startswith("rotating"):
        return analysis(process)
    report, near = analysed_in_the_plane(process, AnalysisRequest())
    return Analysis(report, process, near)


def moved(reference: Analysis, process: DiffusionProcess) -> GeneratorReport:
    """Analyse a process on shared cells, less what these cells miss of the reference."""
    assert reference.perturbed is not None
    own, itself, exact = (
        reference.perturbed(process),
        reference.perturbed(reference.process),
        reference.report,
    )
    assert own.spectrum is not None
    assert itself.spectrum is not None
    assert exact.spectrum is not None
    rates = (
        own.spectrum.eigenvalues
        * exact.spectrum.eigenvalues.real
        / itself.spectrum.eigenvalues.real
    )
    between = [
        replace(passage, mean_time=Timing(None, None, passage.mean_time.log_value + known - missed))
        if passage.mean_time.log_value is not None and known is not None and missed is not None
        else passage
        for passage, known, missed in zip(
            own.between,
            (passage.mean_time.log_value for passage in exact.between),
            (passage.mean_time.log_value for passage in itself.between),
            strict=True,
        )
    ]
    return replace(own, spectrum=replace(own.spectrum, eigenvalues=rates), between=tuple(between))


def run(name: str, samples: int, checked: int) -> float:
    """Print a row; return the CPU seconds of both analyses."""
    begun = time.process_time()
    reference = in_full(name, drawn(name, 0))
    report = reference.report
    analysed = time.process_time()
    processes = [drawn(name, seed) for seed in range(1, samples + 1)]
    found = intervals_over(processes, reference, 0.95)
    slowest = found.range("spectrum", "eigenvalues", "re", 0)
    ended = time.process_time()
    assert report.spectrum is not None
    exact = report.spectrum.eigenvalues
    worst_rate, worst_time = 0.0, 0.0
    for process in processes[:checked]:
        own, near = in_full(name, process).report, moved(reference, process)
        assert own.spectrum is not None
        assert near.spectrum is not None
        sampled = near.spectrum.eigenvalues
        full = matched(own.spectrum.eigenvalues, exact)[:2]
        worst_rate = max(worst_rate, float(np.max(np.abs(sampled[:2].real / full.real - 1))))
        asked = [(passage.start, passage.to) for passage in report.between]
        again = analyse(process, passages=asked).between[: len(asked)] if asked else ()
        for timed, passage in zip(near.between, again, strict=True):
            log_time, own_time = passage.mean_time.log_value, timed.mean_time.log_value
            if own_time is not None and log_time is not None:
                worst_time = max(worst_time, abs(float(np.expm1(own_time - log_time))))
    print(
        f"{name:22}{analysed - begun:9.2f}{ended - analysed:9.2f}{ended - begun:9.2f}"
        f"{worst_rate:12.1e}{worst_time if report.between else float('nan'):12.1e}"
        f"   {exact[0]:.5g}, interval {slowest}",
        flush=True,
    )
    return ended - begun


def main() -> int:
    """Print the table; return 1 where a bar is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--checked", type=int, default=4)
    parser.add_argument("--only", choices=MODELS)
    options = parser.parse_args()
    print(
        f"{'model':22}{'analysis':>9}{'samples':>9}{'both, s':>9}{'rates':>12}{'times':>12}   "
        "slowest rate"
    )
    slow = [
        name
        for name in MODELS
        if options.only in (None, name) and run(name, options.samples, options.checked) > BAR
    ]
    print(
        *[f"{name} takes longer than {BAR:g} s" for name in slow] or ["every bar is met"], sep="\n"
    )
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
