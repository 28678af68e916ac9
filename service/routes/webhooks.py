"""Route of the secret with which webhooks are signed."""

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
    """Return the secret with which your webhooks are signed; it is created on the first request.

    Signatures follow Standard Webhooks (`v1`: HMAC-SHA256). A key with scope `write` is needed,
    because whoever has the secret can sign.
    """
    secret = WebhookSecret(key=context.stores.jobs.webhook_secret(tenant))
    return document(request, secret, cache="no-store")
