"""The guard over what the service may connect to.

A host is resolved once, every address of the answer is judged, and the connection goes to one of exactly these addresses:
the guard is the connector's resolver, so there is no second look-up that could answer otherwise. TLS still checks the name
that was configured. What is not public is refused, unless the operator allows an upstream private networks.
"""

import ipaddress
import socket
from urllib.parse import urlsplit

from aiohttp.abc import AbstractResolver, ResolveResult

from app.formats.protocols import UpstreamFault

# What the standard library takes for public, some versions of it, and is not: the IETF's block, in which Oracle's cloud serves its
# metadata, and Azure's wire server.
_NOT_PUBLIC = (ipaddress.ip_network("192.0.0.0/24"), ipaddress.ip_network("168.63.129.16/32"))
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_ADDRESSES_MAX = 64

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class EgressRefused(UpstreamFault):
    """The service may not connect there. The message names neither the host nor its addresses: both may be secrets of a network."""

    def __init__(self, detail: str) -> None:
        super().__init__("upstream-error", detail, retryable=False)


def is_public(address: str) -> bool:
    """Whether an address literal is one of the public internet. Anything that is no address is not."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    return _public(found)


def _public(address: Address) -> bool:
    if isinstance(address, ipaddress.IPv6Address):
        # An IPv4 address in other clothes: mapped and Teredo ones no honest resolver gives, NAT64 and 6to4 are judged by what is inside.
        if address.ipv4_mapped is not None or address.teredo is not None or address.is_site_local:
            return False
        inside = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF) if address in _NAT64 else address.sixtofour
        if inside is not None:
            return _public(inside)
    if any(address in network for network in _NOT_PUBLIC):
        return False
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


def check_url(url: str, *, allow_private_network: bool) -> None:
    """Refuses a URL that is no http(s) URL with a host and no credentials, or whose host is a literal of a private address."""
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        raise EgressRefused("The upstream's URL cannot be read.") from None
    if parts.scheme not in ("http", "https") or not host or parts.username is not None or parts.password is not None:
        raise EgressRefused("The upstream's URL has to be http or https, with a host and without credentials.")
    if allow_private_network:
        return
    try:
        literal = ipaddress.ip_address(host)
    except ValueError:
        return  # a name: judged when it is resolved
    if not _public(literal):
        raise _private()


class GuardedResolver(AbstractResolver):
    """Resolves by `inner` and refuses an answer that holds even one address that is not public."""

    def __init__(self, inner: AbstractResolver) -> None:
        self._inner = inner

    async def resolve(self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC) -> list[ResolveResult]:
        found = await self._inner.resolve(host, port, family)
        if not found or len(found) > _ADDRESSES_MAX:
            raise EgressRefused("The upstream's host has no usable addresses.")
        if not all(is_public(result["host"]) for result in found):
            raise _private()
        return found

    async def close(self) -> None:
        await self._inner.close()


def _private() -> EgressRefused:
    return EgressRefused("The upstream's address is not public; set `allow_private_network` for this upstream if that is meant.")
