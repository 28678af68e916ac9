"""What a job of the kind `mean` found."""

from collections.abc import Mapping
from typing import Any


class Mean:
    """The mean of each variable, by name.

    document   the result as the service gave it
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document
        self.by_variable: dict[str, float] = dict(document["means"])
