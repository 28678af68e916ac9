"""Errors of models that no plan can be made for."""

from worker.generator.errors import GeneratorError


class NoSuchQuantity(GeneratorError):
    """The model does not have the quantity that the plan is for."""

    code = "no-such-quantity"


class NoPlan(GeneratorError):
    """No plan can be made for this model."""

    code = "no-plan"
