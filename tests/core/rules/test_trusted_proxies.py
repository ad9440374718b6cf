"""Who asks: chains of proxies read from their end, and addresses that are counted together."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.core.rules.trusted_proxies import SOCKET, client_behind, client_group, read_proxies

PROXIES = read_proxies("10.0.0.0/8, fd00::/8")
strangers = st.ip_addresses().filter(lambda address: not PROXIES.believes(str(address)))
ours = st.one_of(st.ip_addresses(network="10.0.0.0/8"), st.ip_addresses(network="fd00::/8"))
written = st.lists(st.text(max_size=20), max_size=5)


@given(made_up=written, client=strangers, path=st.lists(ours, max_size=5), peer=ours)
def test_nothing_a_client_writes_changes_who_it_is(
    made_up: list[str], client: IPv4Address | IPv6Address, path: list[IPv4Address], peer: IPv4Address
) -> None:
    """However long the chain of proxies, and whatever stands before the address that the first of them added."""
    chain = [*made_up, str(client), *map(str, path)]
    found = ip_address(client_behind(str(peer), [", ".join(chain)], PROXIES))
    assert client_group(str(found)) == client_group(str(client))
    assert client_behind(str(peer), chain, PROXIES) == str(found)


@given(peer=strangers, forwarded=written)
def test_nobody_else_is_believed(peer: IPv4Address | IPv6Address, forwarded: list[str]) -> None:
    """Whatever a peer says that is no proxy of ours, it is itself."""
    assert client_behind(str(peer), forwarded, PROXIES) == str(peer)
    assert client_behind(SOCKET, forwarded, PROXIES) == SOCKET


def test_a_peer_on_the_socket_is_believed_when_it_was_named() -> None:
    """It has no address that could be in a network, so it goes by a word of its own."""
    assert client_behind(SOCKET, ["192.0.2.1"], read_proxies("unix")) == "192.0.2.1"
    assert client_behind(SOCKET, ["192.0.2.1"], read_proxies("127.0.0.1")) == SOCKET
    assert client_behind("127.0.0.1", ["192.0.2.1"], read_proxies("unix")) == "127.0.0.1"


@given(address=st.ip_addresses(v=4))
def test_an_address_is_the_same_in_either_writing(address: IPv4Address) -> None:
    """A server that listens on both protocols is told of IPv4 clients inside IPv6 addresses."""
    for text in (f"::ffff:{address}", f"64:ff9b::{address}", f"{address}:4711", f" {address} "):
        assert client_group(text) == str(address)
    assert read_proxies(str(address)).believes(f"::ffff:{address}")


@given(first=st.ip_addresses(v=6), second=st.ip_addresses(v=6))
def test_a_whole_line_is_one_client_and_two_lines_are_two(first: IPv6Address, second: IPv6Address) -> None:
    """64 bits are one line's own; what differs in them is somebody else's."""
    plain = [one for one in (first, second) if not one.ipv4_mapped and not str(one).startswith("64:ff9b::")]
    if len(plain) == 2:
        together = int(first) >> 64 == int(second) >> 64
        assert (client_group(str(first)) == client_group(str(second))) == together


@pytest.mark.parametrize(
    ("address", "group"),
    [
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("[2001:db8:1:2::1]:80", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("192.0.2.1", "192.0.2.1"),
        (SOCKET, SOCKET),
        ("somebody", SOCKET),
    ],
)
def test_a_group_is_written_so_that_people_know_it(address: str, group: str) -> None:
    """What is no address is counted with those that have none."""
    assert client_group(address) == group


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("192.0.2.1", "192.0.2.1", True),
        ("192.0.2.1", "192.0.2.2", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8:0:1::1", "2001:db8:0:2::1", False),
        ("fe80::1%eth0", "fe80::2%eth1", True),
        (SOCKET, SOCKET, True),
        (SOCKET, "192.0.2.1", False),
    ],
)
def test_a_client_counts_by_what_it_can_have(one: str, other: str, *, same: bool) -> None:
    """By its address, and where it has a whole IPv6 network by that; on a Unix socket all are one."""
    assert (client_group(one) == client_group(other)) is same
