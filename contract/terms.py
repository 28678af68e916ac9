"""Terms as text, checked against the grammar."""

from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from grammar.terms import LONGEST, NotATerm, parse


def checked_term(text: str) -> str:
    """Return the term as given. Raises ValueError, which names what is not understood and where."""
    try:
        parse(text)
    except NotATerm as error:
        message = f"the term {error.fault}"
        # A plain ValueError's message would begin with the words "Value error".
        raise PydanticCustomError("term", "{message}", {"message": message}) from None
    return text


Term = Annotated[str, Field(min_length=1, max_length=LONGEST), AfterValidator(checked_term)]
"""A term by its text, e.g. `x^3` or `sin(2*x)`."""
