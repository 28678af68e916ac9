"""How a computation says how far it has come."""

from collections.abc import Callable

Report = Callable[[float, str, str], None]
"""Fraction, stage, message."""
