"""Discord's refusals in our classes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from tidegate.core.errors import AskedToWait, ChannelGone, NotSent, OutcomeUnknown, PlatformError, Refused, SignedOut
from tidegate.core.platform_call import Scope, ScopeKind
from tidegate.platforms.discord.errors import RestAnswer, broken, closed_with, trouble
from tidegate.platforms.interface import ChannelDeleted


def found(status: int, body: Any = None, **headers: str) -> PlatformError:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return trouble(RestAnswer(status, named, body), "GET /x", bucket="GET /x 5")


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (401, 0, SignedOut),
        (403, 50001, ChannelGone),
        (403, 50013, Refused),
        (404, 10003, ChannelDeleted),
        (404, 10004, ChannelGone),
        (404, 10008, Refused),
        (400, 50035, Refused),
        (500, 0, PlatformError),
        (502, 0, PlatformError),
        (503, 0, PlatformError),
    ],
)
def test_each_answer_has_its_class(status: int, code: int, kind: type[PlatformError]) -> None:
    """H-22, H-24, H-29: what to do is in the class, exactly."""
    assert type(found(status, {"message": "so it is.", "code": code})) is kind


@given(st.integers(400, 599), st.one_of(st.none(), st.text(), st.dictionaries(st.text(), st.integers())))
def test_no_answer_is_beyond_words(status: int, body: Any) -> None:
    """Whatever Discord or something before it sends is one of our classes, with a sentence.

    Invariant: error-class-says-what-to-do and bad-input-gets-a-sentence.
    """
    assert str(found(status, body)).endswith(".")


def test_a_bucket_waits_as_long_as_it_is_told() -> None:
    """H-25: to the fraction of a second, and only that bucket."""
    waits = found(429, {"retry_after": 1.5, "global": False}, X_RateLimit_Scope="user")
    assert isinstance(waits, AskedToWait)
    assert (waits.pause, waits.scope) == (timedelta(seconds=1.5), Scope(ScopeKind.BUCKET, "GET /x 5"))


@pytest.mark.parametrize("headers", [{}, {"X_RateLimit_Scope": "global"}])
def test_a_global_wait_is_the_whole_accounts(headers: dict[str, str]) -> None:
    """H-26: the whole lane waits."""
    waits = found(429, {"retry_after": 3, "global": not headers}, **headers)
    assert isinstance(waits, AskedToWait)
    assert waits.scope == Scope()


@pytest.mark.parametrize(("headers", "seconds"), [({}, 60), ({"Retry_After": "7"}, 7), ({"Retry_After": "soon"}, 60)])
def test_a_page_in_place_of_an_answer_is_a_wait(headers: dict[str, str], seconds: int) -> None:
    """H-27: HTML is never taken for success or for an empty page; the account keeps still."""
    waits = found(429, "<html>error 1015</html>", **headers)
    assert isinstance(waits, AskedToWait)
    assert (waits.pause, waits.scope) == (timedelta(seconds=seconds), Scope())


def test_html_where_json_was_due_may_pass() -> None:
    """A refusal by something before Discord is no word of Discord's: it is asked again."""
    assert type(found(403, "<html>no</html>")) is PlatformError


def test_what_was_never_handed_over_says_so() -> None:
    """claim-before-send: only a connection that was never made proves that nothing was sent."""
    unreachable = aiohttp.ClientConnectorError(None, OSError(111, "refused"))  # type: ignore[arg-type]
    assert isinstance(broken(unreachable, "x"), NotSent)
    for problem in (aiohttp.ServerDisconnectedError(), TimeoutError(), ConnectionResetError(104, "reset")):
        assert isinstance(broken(problem, "x"), OutcomeUnknown)


@pytest.mark.parametrize("kind", [aiohttp.ClientHttpProxyError, aiohttp.WSServerHandshakeError])
def test_a_refusing_proxy_is_named_without_its_password(kind: type[aiohttp.ClientResponseError]) -> None:
    """Such an error holds the proxy's address and the header that opens it."""
    headers = CIMultiDictProxy(CIMultiDict({"Proxy-Authorization": "Basic cmVhZGVyOmh1bnRlcjI="}))
    url = URL("http://reader:hunter2@proxy.example:8080")
    problem = kind(aiohttp.RequestInfo(url, "CONNECT", headers, url), (), status=407, message="hunter2")
    said = str(broken(problem, "listening"))
    assert "407" in said
    assert not any(secret in said for secret in ("hunter2", "cmVhZGVyOmh1bnRlcjI=", "Basic"))


def test_a_proxy_that_refuses_got_nothing_to_pass_on() -> None:
    """claim-before-send: the call itself is sent after the proxy has connected."""
    url = URL("http://proxy.example:8080")
    info = aiohttp.RequestInfo(url, "CONNECT", CIMultiDictProxy(CIMultiDict()), url)
    assert isinstance(broken(aiohttp.ClientHttpProxyError(info, (), status=502), "x"), NotSent)


@pytest.mark.parametrize(
    ("code", "kind", "says"),
    [
        (4004, SignedOut, "token"),
        (4014, PlatformError, "Message Content Intent"),
        (4013, PlatformError, "Message Content Intent"),
        (4011, Refused, "sharded"),
        (4012, PlatformError, "4012"),
    ],
)
def test_how_the_gateway_closes(code: int, kind: type[PlatformError], says: str) -> None:
    """Each code that forbids to come back as before has a sentence that says what to do."""
    problem = closed_with(code)
    assert type(problem) is kind
    assert says in str(problem)
