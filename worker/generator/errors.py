"""Errors of the analysis. A model without a stationary distribution is an answer, not an error."""


class GeneratorError(ValueError):
    """This input cannot be analysed at all; the message says what to try.

    code    stable, kebab-case name of the problem, the same for all messages of one kind
    """

    code: str


class UnsupportedDimensionError(GeneratorError):
    """The process has more coordinates than the analysis knows."""

    code = "unsupported-dimension"


class InvalidDomainError(GeneratorError):
    """The declared domain, period or observed range is empty, reversed or not a number."""

    code = "invalid-domain"


class UndefinedCoefficientsError(GeneratorError):
    """Drift or diffusion is not a finite number where it is needed."""

    code = "undefined-coefficients"


class NoFiniteRangeError(GeneratorError):
    """Reflecting ends were asked for, but nothing says where to put them."""

    code = "no-finite-range"


class UnresolvedLandscapeError(GeneratorError):
    """Drift over diffusion varies too fast to be integrated."""

    code = "unresolved-landscape"
