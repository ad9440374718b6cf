"""The address of a proxy: read, written again, and shown without its secret."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.core.errors import BadInput
from tidegate.core.rules.outgoing_proxy import SCHEMES, ProxyAddress, parse_proxy

TEXTS = st.text(alphabet=st.characters(codec="utf-8"), min_size=1, max_size=20)


@given(scheme=st.sampled_from(SCHEMES), port=st.integers(1, 65535), user=TEXTS, password=TEXTS)
def test_what_is_written_is_read_again(scheme: str, port: int, user: str, password: str) -> None:
    """Whatever the user name and password hold; neither is in what people see."""
    proxy = ProxyAddress(scheme, "proxy.example", port, user, password)
    assert parse_proxy(proxy.url) == proxy
    assert proxy.shown == f"{scheme}://proxy.example:{port}"
    assert proxy.shown in repr(proxy)


@pytest.mark.parametrize(
    "written",
    [
        "",
        "socks5://",
        "https://a:1",
        "socks4://a:1",
        "http://a",
        "http://a:0x1",
        "http://a:99999",
        "http://a:1/x",
        "a:1",
    ],
)
def test_what_is_no_proxy_is_refused(written: str) -> None:
    """With the form that is understood."""
    with pytest.raises(BadInput, match="socks5://USER:PASSWORD@HOST:PORT"):
        parse_proxy(written)


def test_a_refusal_repeats_no_secret() -> None:
    """Not even a malformed address is shown again."""
    with pytest.raises(BadInput) as refused:
        parse_proxy("ftp://me:hunter2@host:1")
    assert "hunter2" not in str(refused.value)
    assert parse_proxy("http://[::1]:8080").shown == "http://[::1]:8080"
