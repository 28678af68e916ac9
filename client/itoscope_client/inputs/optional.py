"""Packages that only some inputs need."""

import importlib
from typing import Any

from itoscope_client.errors import MissingDependency


def needed(module: str, what: str, extra: str = "convert") -> Any:
    """The module. Raises MissingDependency, with what it is for and how it is installed."""
    try:
        return importlib.import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        message = f"{what} needs {package}: pip install {package}, or pip install 'itoscope-client[{extra}]'"
        raise MissingDependency(message) from None


def is_of(value: Any, package: str) -> bool:
    """Whether an object is of a class of this package, which is not imported for it."""
    return any(kind.__module__.partition(".")[0] == package for kind in type(value).__mro__)
