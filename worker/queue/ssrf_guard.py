"""The network addresses that webhooks may reach: public ones, and those that the operator names.

A webhook makes this machine send a request to an address that a caller chose. It must not reach
what only this machine can: itself, its neighbours, its cloud's metadata (server-side request
forgery). So names are resolved here, every address is checked, and the connection goes to a checked
address.
"""

import socket
from collections.abc import Sequence
from functools import partial
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from anyio.to_thread import run_sync

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_NAT64 = IPv6Network("64:ff9b::/96")


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
