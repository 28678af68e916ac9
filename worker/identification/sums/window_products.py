"""Products of a window of which the weak equations are made, one by one or summed with weights."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worker.identification.data.library import Library
from worker.identification.data.windows import Space, Stretch
from worker.identification.sums.measurement_noise import MeasurementNoise
from worker.identification.sums.rules import Cross, SamplingRule, crosses_of

Floats = NDArray[np.float64]
Pair = tuple[int, int]


def pairs_of(dimension: int) -> tuple[Pair, ...]:
    """List the components (p, q), p ≤ q, of a symmetric tensor."""
    return tuple((p, q) for p in range(dimension) for q in range(p, dimension))


@dataclass(frozen=True, slots=True)
class Layout:
    """Order of the columns of the products.

    n_points      samples X_0 … X_m
    n_functions   internal functions of the library
    crosses       products D_k b(X_j)
    dimension     number of variables d
    """

    n_points: int
    n_functions: int
    crosses: tuple[Cross, ...]
    dimension: int

    @property
    def ends(self) -> tuple[int, int, int, int]:
        """Ends of functions, cross products, displacements and moments; one more column counts."""
        functions = self.n_points * self.n_functions
        cross = functions + len(self.crosses) * self.dimension * self.n_functions
        displacements = cross + (self.n_points - 1) * self.dimension
        return (
            functions,
            cross,
            displacements,
            displacements + (self.n_points - 1) * len(pairs_of(self.dimension)),
        )


@dataclass(frozen=True, slots=True, eq=False)
class WindowProducts:
    """Columns (…, n_columns) of single windows, or Σ Φ over windows.

    Everything here is linear in the columns.

    functions      (…, m + 1, n_functions)              h g(X_k)
    cross          (…, n_crosses, d, n_functions)       h D_k,p g(X_j)
    displacements  (…, m, d)                            D_k
    moments        (…, m, d(d+1)/2)                     D_k,p D_k,q in the order of `pairs_of`
    count          (…,)                                 1
    """

    columns: Floats
    layout: Layout

    @property
    def functions(self) -> Floats:
        """Products h g(X_k); (…, m + 1, n_functions)."""
        end, layout = self.layout.ends[0], self.layout
        return self.columns[..., :end].reshape(
            *self.columns.shape[:-1], layout.n_points, layout.n_functions
        )

    @property
    def cross(self) -> Floats:
        """Products h D_k,p g(X_j); (…, n_crosses, d, n_functions)."""
        (begin, end, *_), layout = self.layout.ends, self.layout
        shape = len(layout.crosses), layout.dimension, layout.n_functions
        return self.columns[..., begin:end].reshape(*self.columns.shape[:-1], *shape)

    @property
    def displacements(self) -> Floats:
        """Displacements D_k; (…, m, d)."""
        (_, begin, end, _), layout = self.layout.ends, self.layout
        return self.columns[..., begin:end].reshape(
            *self.columns.shape[:-1], layout.n_points - 1, layout.dimension
        )

    @property
    def moments(self) -> Floats:
        """Products D_k,p D_k,q in the order of `pairs_of`; (…, m, d(d+1)/2)."""
        (*_, begin, end), layout = self.layout.ends, self.layout
        return self.columns[..., begin:end].reshape(
            *self.columns.shape[:-1], layout.n_points - 1, len(pairs_of(layout.dimension))
        )

    @property
    def count(self) -> Floats:
        """Number of windows; (…,)."""
        return self.columns[..., -1]

    def drift_design(self, rule: SamplingRule, noise: MeasurementNoise | None = None) -> Floats:
        """Compute the design of (M21), equal for all components; (…, n_functions)."""
        design = np.tensordot(self.functions, rule.drift, axes=(-2, 0))
        return np.asarray(design if noise is None else design @ noise.correction.T)

    def drift_response(self, p: int) -> Floats:
        """Return the response of (M21) for component p; (…,)."""
        return np.asarray(self.displacements[..., -1, p])

    def diffusion_design(self, rule: SamplingRule, noise: MeasurementNoise | None = None) -> Floats:
        """Compute the design of (M22), equal for all components; (…, n_functions)."""
        design = np.tensordot(self.functions, rule.diffusion, axes=(-2, 0))
        return np.asarray(design if noise is None else design @ noise.correction.T)

    def diffusion_response(
        self, rule: SamplingRule, pair: Pair, drift: Floats, noise: MeasurementNoise | None = None
    ) -> Floats:
        """Compute the response of (M22) less the drift's part; (…,) for drift (d, n_functions)."""
        (p, q), layout = pair, self.layout
        response = self.moments[..., pairs_of(layout.dimension).index(pair)] @ np.array(
            rule.moments
        )
        for (k, j), weight in rule.cross:
            products, functions = (
                self.cross[..., layout.crosses.index((k, j)), :, :],
                self.functions[..., j, :],
            )
            for one, other in ((p, q), (q, p)):
                along = drift[other]
                if noise is None:
                    expected = products[..., one, :] @ along
                else:
                    # D_k holds the noise of X_k too: E[η_p b̃(X + η)] = Σ_r S_pr ∂_r b(X). Vectors
                    # are multiplied first, because the sums are many.
                    expected = products[..., one, :] @ (noise.correction.T @ along) - functions @ (
                        noise.shared(one) @ along
                    )
                response = response - weight * expected
        return np.asarray(response)


def layout_of(space: Space, library: Library, rule: SamplingRule) -> Layout:
    """Return the layout of the rule's products."""
    return Layout(len(rule.drift), library.internal_size, crosses_of(rule), space.dimension)


def products_of(
    stretch: Stretch, space: Space, library: Library, rule: SamplingRule
) -> WindowProducts:
    """Compute the products of every window of a stretch; (n, n_columns).

    Parameters
    ----------
    stretch, space, library, rule : windows, internal units, library, sampling rule
    """
    d, layout = space.dimension, layout_of(space, library, rule)
    # Columns are contiguous in memory: each is written at once, and products with the instruments
    # read them so.
    columns = np.empty((layout.ends[-1] + 1, stretch.size)).T
    out = WindowProducts(columns, layout)
    functions, step = library.internal(stretch.y), stretch.steps[rule.lead :].mean(axis=0)
    displacements = stretch.displacements(space, rule.lead)
    for k, rows in enumerate(stretch.points[rule.lead :]):
        np.multiply(functions[rows], step[:, None], out=out.functions[:, k])
    for c, (k, j) in enumerate(layout.crosses):
        for p in range(d):
            np.multiply(
                out.functions[:, j], displacements[k - 1][:, p : p + 1], out=out.cross[:, c, p]
            )
    first, second = (list(side) for side in zip(*pairs_of(d), strict=True))
    for k, displacement in enumerate(displacements):
        out.displacements[:, k] = displacement
        np.multiply(displacement[:, first], displacement[:, second], out=out.moments[:, k])
    out.count[:] = 1.0
    return out
