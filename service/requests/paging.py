"""Lists come in pages."""

from typing import Annotated

from pydantic import Field

from contract.base import Document


class Page(Document):
    """Which part of a list."""

    limit: Annotated[int, Field(ge=1, le=200)] = 50
    """Entries a page."""
    cursor: Annotated[str, Field(max_length=200)] | None = None
    """`next_cursor` of the page before."""
