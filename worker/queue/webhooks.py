"""Webhooks: a signed POST of an ended job's record (Standard Webhooks), sent at least once.

The job store holds what is due and when to try again, so that any worker continues for another.

A webhook makes this machine send a request to an address that a caller chose. It must not reach
what only this machine can: itself, its neighbours, its cloud's metadata (server-side request
forgery). So names are resolved here, every address is checked, and the connection goes to a checked
address: a public one, or one that the operator names.
"""

import asyncio
import base64
import hashlib
import hmac
import socket
import ssl
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

import httpx
import structlog
from anyio.to_thread import run_sync

from contract.jobs import SECRET_PREFIX, host_allowed
from storage.redis.jobs import JobStore
from storage.stores import WEBHOOKS_AT_ONCE, Delivery

SECONDS = 5.0
"""Time-out from the look-up of the address to the status of the response."""
_GONE = 410
_PORTS = {"https": 443, "http": 80}
_log = structlog.get_logger(__name__)

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_NAT64 = IPv6Network("64:ff9b::/96")


@cache
def _trusted_by_the_system() -> ssl.SSLContext:
    return httpx.create_ssl_context(trust_env=False)


def signed_headers(secret: str, message_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """Return the header fields of Standard Webhooks 1.0: id, time stamp and signature."""
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    signature = hmac.new(key, f"{message_id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": f"v1,{base64.b64encode(signature).decode()}",
    }


@dataclass(frozen=True, slots=True)
class WebhookSender:
    """A sender of due webhooks.

    hosts      host names that the operator allows
    networks   addresses that are allowed though they are not public
    trusted    trusted certificates; default: the system's
    """

    jobs: JobStore
    hosts: Sequence[str]
    networks: Sequence[Network] = ()
    trusted: ssl.SSLContext | None = None

    def send_due(self) -> None:
        """Send the webhooks that are due, all at the same time.

        Raises StoreUnavailable: what was sent may then be sent again.
        """
        due = self.jobs.webhooks_due()
        while due:
            secrets = {
                tenant: self.jobs.webhook_secret(tenant)
                for tenant in {delivery.tenant for delivery in due}
            }
            for delivery, outcome in zip(due, asyncio.run(self._all(due, secrets)), strict=True):
                delivered = isinstance(outcome, int) and 200 <= outcome < 300
                _log.info(
                    "webhook", job_id=delivery.record.id, attempt=delivery.attempt, outcome=outcome
                )
                if delivered or outcome == _GONE or delivery.last:
                    self.jobs.webhook_ended(delivery.record.id, delivered)
            due = self.jobs.webhooks_due() if len(due) == WEBHOOKS_AT_ONCE else []

    async def _all(self, due: Sequence[Delivery], secrets: dict[str, str]) -> Sequence[int | str]:
        # A proxy from the environment would resolve the name itself, and a redirect would lead to
        # an unchecked address.
        trusted = self.trusted or _trusted_by_the_system()
        async with httpx.AsyncClient(
            verify=trusted, trust_env=False, follow_redirects=False, timeout=SECONDS
        ) as client:
            return await asyncio.gather(
                *(self._one(client, delivery, secrets[delivery.tenant]) for delivery in due)
            )

    async def _one(self, client: httpx.AsyncClient, delivery: Delivery, secret: str) -> int | str:
        """Return the response status, or why there is none; the address, a secret, is not named."""
        try:
            async with asyncio.timeout(SECONDS):
                return await self._answered(client, delivery, secret)
        except AddressRefused as error:
            return str(error)
        except (OSError, TimeoutError, httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            return type(error).__name__

    async def _answered(self, client: httpx.AsyncClient, delivery: Delivery, secret: str) -> int:
        record = delivery.record
        assert record.request.webhook is not None
        given = record.request.webhook.url
        if not host_allowed(given, self.hosts):
            raise AddressRefused("the operator no longer allows this host")
        url = httpx.URL(given)
        if url.scheme != "https" and not self.networks:
            raise AddressRefused("the address is not https")
        addresses = await permitted_addresses(
            url.host, url.port or _PORTS[url.scheme], self.networks
        )
        message_id = f"msg_{record.id.removeprefix('job_')}"
        body = record.linked.model_dump_json(by_alias=True).encode()
        headers = {
            "Host": url.netloc.decode("ascii"),
            "Content-Type": "application/json",
            "User-Agent": "Itoscope",
            **signed_headers(secret, message_id, int(time.time()), body),
        }
        for address in addresses:
            # The request goes to the checked address, but the certificate must be the name's.
            request = client.build_request(
                "POST", url.copy_with(host=address), content=body, headers=headers
            )
            request.extensions["sni_hostname"] = url.raw_host.decode("ascii")
            try:
                response = await client.send(request, stream=True)
            except httpx.ConnectError:
                if address == addresses[-1]:
                    raise
                continue
            await response.aclose()  # only the status matters
            return response.status_code
        raise AddressRefused("the host has no address")


class AddressRefused(Exception):
    """The name resolves to no address, or to one that webhooks may not reach."""


async def permitted_addresses(host: str, port: int, networks: Sequence[Network]) -> Sequence[str]:
    """Return the host's addresses if all are public or in one of the networks.

    IPv4 addresses come first: a worker without a route to IPv6 would notice only at the time-out.
    Raises AddressRefused, OSError.
    """
    # The event loop's own resolver is not used: a closing loop waits for it, and a name server may
    # take a minute to give no answer.
    found = await run_sync(
        partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM), abandon_on_cancel=True
    )
    addresses = list(dict.fromkeys(ip_address(str(place[0])) for *_, place in found))
    if not addresses:
        raise AddressRefused("the host has no address")
    if not all(is_permitted(address, networks) for address in addresses):
        raise AddressRefused("the host has an address that is not public")
    return [str(address) for address in sorted(addresses, key=lambda address: address.version)]


def is_permitted(address: Address, networks: Sequence[Network]) -> bool:
    """Return whether the address is public, or in one of the networks."""
    inner = _inner(address)
    if any(
        one.version == network.version and one in network
        for one in (address, inner)
        for network in networks
    ):
        return True
    special = (
        inner.is_multicast
        or inner.is_reserved
        or (isinstance(inner, IPv6Address) and inner.is_site_local)
    )
    return inner.is_global and not special


def _inner(address: Address) -> Address:
    """Return the IPv4 address that an IPv6 address embeds or tunnels to, or else the address."""
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    if address.teredo is not None:
        return address.teredo[1]
    return address.ipv4_mapped or address.sixtofour or address
