"""The query of a list that is served in pages."""

from typing import Annotated

from pydantic import Field

from contract.base import Document


class Page(Document):
    """One page of a list."""

    limit: Annotated[int, Field(ge=1, le=200)] = 50
    """Number of entries per page."""
    cursor: Annotated[str, Field(max_length=200)] | None = None
    """Value of `next_cursor` from the previous page."""
