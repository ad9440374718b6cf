"""Which host a request may name: a name that leads to this machine by a trick of DNS is another site's."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.web.visiting import HTML, loaded, visiting
from tidegate.core.errors import BadInput
from tidegate.database.pool import Database
from tidegate.web.site_address import Site

OPEN_TO_ALL = ["/health", "/metrics", "/sign-in", "/static/style.css", "/api/openapi.json", "/"]
OWN = ["127.0.0.1", "127.3.2.1:80", "LocalHost:8742", "localhost.", "[::1]", "[::1]:8742"]
FOREIGN = ["evil.example", "evil.example:8742", "127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.1", "[::2]",
           "evil.example:127.0.0.1", "[", ":", "0.0.0.0"]  # fmt: skip


def site(**variables: str) -> Site:
    return Site.of(loaded(**variables).settings)


class TestWhichHosts:
    @pytest.mark.parametrize("host", OWN)
    def test_this_machine_is_meant(self, host: str) -> None:
        """By any loopback address or as localhost, with any port."""
        assert site().answers_to(host)

    @pytest.mark.parametrize("host", FOREIGN)
    def test_another_machine_is_not(self, host: str) -> None:
        """Also not one that has our name in its own."""
        assert not site().answers_to(host)

    @given(name=st.from_regex(r"[a-z0-9-]{1,20}(\.[a-z0-9-]{1,20}){0,3}\.[a-z]{2,8}", fullmatch=True))
    def test_no_name_that_dns_gives_is_meant_unless_it_was_named(self, name: str) -> None:
        """Whoever can register a name can make it lead here; those that the operator named are the operator's."""
        assert not site().answers_to(name)
        assert site(TIDEGATE_WEB_HOSTS=f"gate.lan,{name}").answers_to(f"{name}:80")
        assert site(TIDEGATE_WEB_URL=f"https://{name}/gate").answers_to(name.upper())

    @pytest.mark.parametrize("bound", ["0.0.0.0", "::", "192.0.2.1"])
    def test_who_listens_to_others_says_who_may_ask(self, bound: str) -> None:
        """Machines have many names in their networks: none is refused before some are named."""
        assert site(TIDEGATE_WEB_HOST=bound).answers_to("evil.example")
        assert site(TIDEGATE_WEB_HOST=bound, TIDEGATE_WEB_URL="http://gate.lan").answers_to("192.0.2.1")
        named = site(TIDEGATE_WEB_HOST=bound, TIDEGATE_WEB_HOSTS="gate.lan [fd00::1]")
        asked = ("gate.lan", "[fd00::1]:80", "localhost", "evil.example")
        assert [named.answers_to(host) for host in asked] == [True, True, True, False]


class TestAsking:
    async def test_nothing_is_told_to_another_site(self, database: Database) -> None:
        """Neither health, metrics nor the sign-in; the refusal says what to set if the name is the operator's own."""
        async with visiting(database) as client:
            for path in OPEN_TO_ALL:
                answer = await client.get(path, headers={"host": "evil.example:8742", "accept": "*/*"})
                assert (answer.status_code, answer.headers["content-type"]) == (421, "application/problem+json")
                assert "add it to the setting web_hosts (TIDEGATE_WEB_HOSTS)" in answer.json()["detail"]
            shown = await client.get("/", headers={"host": "evil.example", **HTML})
        assert (shown.status_code, "evil.example" in shown.text) == (421, True)
        assert shown.headers["x-frame-options"] == "DENY"

    async def test_a_proxy_that_passes_the_host_on_needs_one_setting(self, database: Database) -> None:
        """The address that people use; further names of it are named beside it."""
        async with visiting(database, TIDEGATE_WEB_URL="https://gate.lan/t", TIDEGATE_WEB_HOSTS="old.lan") as client:
            for host in ("gate.lan", "old.lan", "127.0.0.1:8742"):
                assert (await client.get("/t/sign-in", headers={"host": host})).status_code == 200, host
            assert (await client.get("/t", headers={"host": "evil.example"})).status_code == 421

    async def test_a_probe_that_names_no_host_is_answered(self, database: Database) -> None:
        """Load balancers ask so in HTTP/1.0; no browser does."""
        async with visiting(database) as client:
            reader, writer = await asyncio.open_connection(client.base_url.host, client.base_url.port)
            writer.write(b"GET /health HTTP/1.0\r\n\r\n")
            assert (await reader.readline()).split()[1] == b"200"
            writer.close()
            await writer.wait_closed()

    @pytest.mark.parametrize("hosts", ["https://gate.lan", "gate.lan/t", "a,,b"])
    def test_what_is_no_host_is_refused_at_the_start(self, hosts: str) -> None:
        """The sentence says what it must be."""
        with pytest.raises(BadInput, match=r"must be names such as gate\.example\.org"):
            loaded(TIDEGATE_WEB_HOSTS=hosts)
