"""Which network addresses may be told of a job's end: public ones, and those that the operator names.

A webhook makes this machine send a request to where a caller says. It must not reach what only this machine can: itself, its
neighbours, its cloud's metadata (server-side request forgery). So names are resolved here, every address is looked at, and the
connection goes to one that was looked at.
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
    """The name stands for an address that may not be told, or for none."""


async def permitted_addresses(host: str, port: int, networks: Sequence[Network]) -> Sequence[str]:
    """The host's addresses, all of which are public or in one of the networks. Raises AddressRefused, OSError.

    Those of IPv4 come first: a worker without a way to IPv6 would find out only when its time is up.
    """
    # Not the loop's own way: what it has begun, it waits for at its end, and a name server may take a minute to say nothing.
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
    """Whether the address is public, or in one of the networks."""
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
    """The IPv4 address inside one of IPv6 that is only another spelling of it, or a tunnel to it."""
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    if address.teredo is not None:
        return address.teredo[1]
    return address.ipv4_mapped or address.sixtofour or address
