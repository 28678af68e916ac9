"""What can be wrong with data or parameters; drawn once here, mapped to a problem once in worker/jobs/problems.py."""


class IdentificationError(Exception):
    """The data cannot answer the question. `code` is stable; the message ends with what to try."""

    code = "cannot-identify"

    def __init__(self, message: str, *, hints: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.hints = hints


class TooFewSamples(IdentificationError):
    code = "too-few-samples"


class ConstantData(IdentificationError):
    code = "constant-data"


class CollinearVariables(IdentificationError):
    code = "collinear-variables"


class WrappedVariable(IdentificationError):
    """A variable jumps between the ends of its range: an angle whose period was not declared."""

    code = "wrapped-variable"


class DimensionNotSupported(IdentificationError):
    code = "dimension-not-supported"


class IndependentSamples(IdentificationError):
    """Consecutive samples carry no, or alternating, memory of each other."""

    code = "sampling-too-coarse"


class SecondOrderDynamics(IdentificationError):
    """The path is smooth: what was measured is the position of an inertial process."""

    code = "second-order-dynamics"


class NoDataUnderKernels(IdentificationError):
    code = "no-data-under-kernels"


class UnknownTerm(IdentificationError):
    """A term's text is not in the grammar."""

    code = "unknown-term"


class InvalidLibrary(IdentificationError):
    code = "invalid-library"


class InvalidWindows(IdentificationError):
    """Windows that do not fit the record."""

    code = "invalid-windows"
