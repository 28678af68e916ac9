"""Import of packages that only some inputs need."""

import importlib
from typing import Any

from itoscope_client.errors import MissingDependency


def needed(module: str, what: str, extra: str = "convert") -> Any:
    """Import the module. Raise MissingDependency, with its purpose and its installation."""
    try:
        return importlib.import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        message = (
            f"{what} needs {package}: pip install {package}, "
            f"or pip install 'itoscope-client[{extra}]'"
        )
        raise MissingDependency(message) from None


def is_of(value: Any, package: str) -> bool:
    """Return whether the object's class comes from this package, without importing it."""
    return any(kind.__module__.partition(".")[0] == package for kind in type(value).__mro__)
