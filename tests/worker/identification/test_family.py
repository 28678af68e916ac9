"""Models drawn around an estimate, evaluated all at once, are what each is by itself."""

from functools import cache

import numpy as np
import pytest

from worker.generator.analysis import analyse
from worker.generator.numerics.roots import (
    BATCH,
    ROUNDED,
    roots,
    roots_of_each,
)
from worker.generator.process import scalar_view, values
from worker.generator.process_batch import Family, among, coefficients_at
from worker.generator.uncertainty.batch import analysed_together
from worker.identification.data.library import make_library
from worker.identification.data.trajectories import Scales, from_arrays, measure_scales
from worker.identification.identified_model import process_of, processes_of
from worker.identification.symbolic_process import SymbolicFamily

X = np.linspace(-5.0, 9.0, 57)


@cache
def scales() -> Scales:
    return measure_scales(from_arrays([3.0 + np.random.default_rng(0).standard_normal(200)], 0.1))


def family(**library: object) -> SymbolicFamily:
    made = make_library(scales(), polynomial_degree=3, **library)  # type: ignore[arg-type]
    drawn = np.random.default_rng(1).standard_normal((7, 2, made.internal_size))
    return processes_of(made, drawn, scales(), (-6.0, np.inf))


@pytest.mark.parametrize(
    "library",
    [{}, {"extra_terms": ("sin(2*x)", "exp(-x^2)")}, {"period": 2 * np.pi, "fourier_harmonics": 2}],
)
def test_each_is_the_same_to_the_last_bit(library: dict[str, object]) -> None:
    models = family(**library)
    assert isinstance(models, Family)
    b, a = coefficients_at(models, X)
    for found in ((b, a), coefficients_at(list(models), X)):
        for row, model in enumerate(models):
            assert model.domain == ((-6.0, np.inf),)
            assert np.array_equal(found[0][row], model.drift(X[:, None])[:, 0])
            assert np.array_equal(found[1][row], model.diffusion(X[:, None])[:, 0, 0])
    # Negative control: they are not all one.
    assert not np.array_equal(b[0], b[1])


def test_some_of_them_are_a_family_too() -> None:
    models = family()
    b, _ = coefficients_at(models, X)
    for some, rows in (
        (among(models, [4, 2]), [4, 2]),
        (models[1:3], [1, 2]),
        (among(list(models), [0]), [0]),
    ):
        assert np.array_equal(coefficients_at(some, X)[0], b[rows])
    assert coefficients_at(among(models, []), X)[0].shape == (0, len(X))
    assert coefficients_at([], X)[0].shape == (0, len(X))
    with pytest.raises(IndexError):
        models[len(models)]


def test_a_family_is_analysed_as_its_members_are() -> None:
    library = make_library(scales(), polynomial_degree=1)
    internal = np.array(
        [[[-0.2 - 0.02 * k, -1.0 - 0.05 * k], [0.8 + 0.03 * k, 0.0]] for k in range(5)]
    )
    models = processes_of(library, internal, scales(), (-np.inf, np.inf))
    reference = analyse(
        process_of(library, *internal[2], scales(), (-np.inf, np.inf)), exits=[(3.0, 2.0, 4.0)]
    )
    for one, other in zip(
        analysed_together(models, reference, (), None),
        analysed_together(list(models), reference, (), None),
        strict=True,
    ):
        assert one is not None
        assert other is not None
        assert one.rates == other.rates
        assert (one.mean, one.variance, one.exits) == (other.mean, other.variance, other.exits)


def test_the_roots_of_each_are_those_that_it_has_alone() -> None:
    library = make_library(scales(), polynomial_degree=3)
    drawn = np.random.default_rng(2).standard_normal((BATCH + 20, 2, library.internal_size))
    drawn[3, 0] = 0.0  # of which no sign changes
    models = processes_of(library, drawn, scales(), (-np.inf, np.inf))
    points = np.linspace(-5.0, 9.0, 200)
    alone = [
        roots(scalar_view(model), points, values(scalar_view(model).b, points)) for model in models
    ]
    assert {len(at) for at, _ in alone} == {0, 1, 2, 3}
    for found in (roots_of_each(models, points), roots_of_each(list(models), points)):
        for model, (at, stable), (own, pulls_back) in zip(models, found, alone, strict=True):
            assert np.array_equal(stable, pulls_back)
            # It may have searched on for the others' sake: the drift's sign is known but for its rounding error.
            y = np.abs((own[:, None] - model.b.origin) / model.b.unit) ** np.arange(
                len(model.b.powers)
            )
            rounding = (
                np.finfo(float).eps
                * (y @ np.abs(model.b.powers))
                / np.abs(model.drift_jacobian(own[:, None])[:, 0, 0])
            )
            assert np.all(np.abs(at - own) <= ROUNDED * rounding + 4 * np.spacing(np.abs(own)))
