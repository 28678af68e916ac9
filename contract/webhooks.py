"""Webhooks: the address to notify of a job's end, and the hosts that the operator allows."""

from collections.abc import Sequence
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from contract.base import Document

SECRET_PREFIX = "whsec_"


def _checked_url(text: str) -> str:
    """Return the address as given. Raises ValueError, which does not repeat it."""
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise _fault("is not a web address") from None
    if parts.scheme not in ("https", "http") or not host or port == 0:
        raise _fault("must begin with https:// and name a host")
    if parts.username is not None or parts.password is not None:
        raise _fault(
            "must not contain a user name or password; the signature identifies the sender"
        )
    if (
        parts.fragment
        or not text.isascii()
        or any(character <= " " or character in '\\"<>^`{|}\x7f' for character in text)
    ):
        raise _fault("contains characters that must be percent-encoded")
    return text


def _fault(message: str) -> PydanticCustomError:
    return PydanticCustomError("webhook", "{message}", {"message": message})


class Webhook(Document):
    """An address that receives the job's record when the job has ended.

    The record is sent in a signed POST (Standard Webhooks).
    """

    url: Annotated[
        str,
        Field(min_length=1, max_length=2048, examples=["https://lab.example.org/itoscope"]),
        AfterValidator(_checked_url),
    ]
    """Address, beginning with `https://`. The operator decides which hosts are allowed."""


def host_allowed(url: str, patterns: Sequence[str]) -> bool:
    """Return whether the operator allows this address's host.

    A pattern is a host, `*.` and a domain for every host below it, or `*` for any host.
    """
    host = (urlsplit(url).hostname or "").rstrip(".").lower()
    for pattern in patterns:
        wanted = pattern.strip().rstrip(".").lower()
        if (
            wanted == "*"
            or host == wanted
            or (wanted.startswith("*.") and host.endswith(wanted[1:]))
        ):
            return True
    return False
