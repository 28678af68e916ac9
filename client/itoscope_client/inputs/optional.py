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
