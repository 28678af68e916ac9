"""What those who are told of a job's end need to know."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from contract.base import Document
from service.dependencies import Context, writer_of
from service.responses.representations import document
from service.routes.responses import problems

router = APIRouter(prefix="/v1/webhooks", tags=["webhooks"])


class WebhookSecret(Document):
    """The secret that your webhooks are signed with."""

    key: str
    """Secret, beginning with `whsec_`. Give it to a Standard Webhooks library, which verifies
    signatures with it. Keep it confidential."""


@router.get(
    "/secret",
    summary="Show the webhook secret",
    response_model=WebhookSecret,
    responses=problems(401, 503),
)
def get_secret(
    request: Request, context: Context, tenant: Annotated[str, Depends(writer_of)]
) -> Response:
    """The secret with which every webhook of yours is signed (Standard Webhooks, `v1`: HMAC-SHA256), made when first asked for.
    It takes a key that may `write`: whoever has the secret can sign.
    """
    secret = WebhookSecret(key=context.stores.jobs.webhook_secret(tenant))
    return document(request, secret, cache="no-store")
