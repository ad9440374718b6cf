"""The address of a client behind trusted proxies, and which addresses count as one client."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Network = IPv4Network | IPv6Network

SOCKET = "unix"
"""How a peer on a Unix socket is named: it has no address."""

_ONE_SITE = 64
"""Bits of an IPv6 address that one line to the internet has for itself."""

_EMBEDDED = IPv6Network("64:ff9b::/96")
_LONGEST_CHAIN = 32


@dataclass(frozen=True, slots=True)
class Proxies:
    """The trusted proxies: peers in *networks*, and those on the Unix socket if *on_socket*."""

    networks: tuple[Network, ...] = ()
    on_socket: bool = False

    def believes(self, peer: str) -> bool:
        if peer == SOCKET:
            return self.on_socket
        address = _address(peer)
        return address is not None and any(address in network for network in self.networks)


def read_proxies(written: str) -> Proxies:
    """Addresses, networks and the word ``unix``, commas or spaces between them; ``ValueError`` for anything else."""
    words = [word for word in re.split("[, ]+", written.strip()) if word]
    networks = tuple(ip_network(word) for word in words if word != SOCKET)
    if any(network.prefixlen == 0 for network in networks):
        raise ValueError("a network of everybody")
    return Proxies(networks, on_socket=SOCKET in words)


def client_behind(peer: str, forwarded: Collection[str], proxies: Proxies) -> str:
    """The address of the client in front of a chain of trusted proxies.

    *forwarded* are the values of ``X-Forwarded-For``, in their order. Each proxy appends the address it received the
    request from, so the chain is read from its end. The first untrusted address is the client; it may have forged what
    comes before. Anything but an address ends the chain as well.
    """
    client = peer
    for hop in reversed(_hops(forwarded)):
        if not proxies.believes(client):
            break
        address = _address(hop)
        if address is None:
            break
        client = str(address)
    return client


def _hops(forwarded: Collection[str]) -> Sequence[str]:
    return [hop for value in forwarded for hop in value.split(",")][-_LONGEST_CHAIN:]


def client_group(client: str) -> str:
    """Which addresses count as one client: an IPv4 address, or all IPv6 addresses of a /64."""
    address = _address(client)
    if isinstance(address, IPv6Address):
        return str(IPv6Network((address.packed, _ONE_SITE), strict=False))
    return str(address) if address is not None else SOCKET


def _address(written: str) -> IPv4Address | IPv6Address | None:
    """An address, perhaps with its port; an IPv4 address that travels inside an IPv6 one is the IPv4 address."""
    text = written.strip().strip('"')
    if found := re.fullmatch(r"\[([^]]+)\](?::\d+)?|([^:]+):\d+", text):
        text = found[1] or found[2]
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address in _EMBEDDED:
            return IPv4Address(address.packed[-4:])
    return address
