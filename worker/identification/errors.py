"""Errors of data and parameters, each mapped to a problem document in worker/jobs/problems.py."""


class IdentificationError(Exception):
    """The data cannot answer the question: `code` is stable, the message ends with what to try."""

    code: str

    def __init__(self, message: str, *, hints: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.hints = hints


class TooFewSamples(IdentificationError):
    """The record is too short for what is asked."""

    code = "too-few-samples"


class ConstantData(IdentificationError):
    """The state does not vary."""

    code = "constant-data"


class ValuesOutOfRange(IdentificationError):
    """The state is so large, or varies so little, that its powers cannot be computed with."""

    code = "values-out-of-range"


class CollinearVariables(IdentificationError):
    """A variable is constant or a linear combination of the others."""

    code = "collinear-variables"


class WrappedVariable(IdentificationError):
    """A variable jumps between the ends of its range: an angle whose period was not declared."""

    code = "wrapped-variable"


class UnsuitableInput(IdentificationError):
    """An input or a forcing does not drive the states, or cannot be told from something else."""

    code = "unsuitable-input"


class DimensionNotSupported(IdentificationError):
    """The question is not answered for this number of variables."""

    code = "dimension-not-supported"


class IndependentSamples(IdentificationError):
    """Consecutive samples carry no, or alternating, memory of each other."""

    code = "sampling-too-coarse"


class SecondOrderDynamics(IdentificationError):
    """The path is smooth: what was measured is the position of an inertial process."""

    code = "second-order-dynamics"


class NotSecondOrder(IdentificationError):
    """The positions themselves diffuse, or are noise alone: no velocity is seen."""

    code = "not-second-order"


class NoCorrelationTime(IdentificationError):
    """The noise is white at the sampling interval, or lasts as long as the record."""

    code = "no-correlation-time"


class NoDataUnderKernels(IdentificationError):
    """No sample lies under any kernel."""

    code = "no-data-under-kernels"


class UnknownTerm(IdentificationError):
    """The text of a term is not in the grammar."""

    code = "unknown-term"


class InvalidLibrary(IdentificationError):
    """The library of candidate terms is too large, or a term in it is not usable."""

    code = "invalid-library"


class InvalidWindows(IdentificationError):
    """The windows do not fit the record."""

    code = "invalid-windows"
