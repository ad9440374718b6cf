"""Rate limits: what headers say, what is refused and for how long, and whom it concerns."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta

import discord
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.held import NOON
from tests.loopback.bots import ask, logged_in
from tidegate.core.clock import HeldClock
from tidegate.loopback.discord import DiscordServer, World
from tidegate.loopback.discord.rate_limits import Limits
from tidegate.loopback.faults import Fault, FaultKind

PAGES = "GET /channels/{channel.id}/messages"


@pytest.fixture
async def held() -> AsyncIterator[DiscordServer]:
    """A Discord with limits whose clock stands still until the test moves it."""
    clock = HeldClock(NOON)
    world = World(clock, seed=7)
    world.add_bot("Tidebot")
    guild = world.add_guild("Harbour")
    for name in ("general", "other"):
        world.add_channel(guild, name)
    world.limits.scale = 1.0
    server = DiscordServer(world, clock)
    await server.start()
    yield server
    await server.close()


async def page(server: DiscordServer, channel: str = "general", **query: int) -> tuple[int, dict[str, str]]:
    path = f"/channels/{server.world.channel(channel).id}/messages"
    status, _, headers = await ask(server, "GET", path, params=query)
    return status, headers


class TestBuckets:
    async def test_a_bucket_is_a_route_and_a_channel(self, held: DiscordServer) -> None:
        """H-25: the query string does not matter; other channels and routes go on while one bucket waits."""
        clock = held.clock
        assert isinstance(clock, HeldClock)
        for left in (4, 3, 2, 1, 0):
            status, headers = await page(held, limit=left + 1)
            assert (status, headers["x-ratelimit-limit"], headers["x-ratelimit-remaining"]) == (200, "5", str(left))
            assert headers["x-ratelimit-reset-after"] == "5.000"
            assert float(headers["x-ratelimit-reset"]) == (NOON + timedelta(seconds=5)).timestamp()
        await clock.advance(timedelta(seconds=1.5))
        path = f"/channels/{held.world.channel('general').id}/messages"
        status, told, headers = await ask(held, "GET", path)
        assert (status, told["retry_after"], told["global"]) == (429, 3.5, False)
        assert (headers["retry-after"], headers["x-ratelimit-scope"], "via" in headers) == ("4", "user", True)
        other, _ = await page(held, "other")
        assert other == 200
        assert (await ask(held, "GET", "/users/@me"))[0] == 200
        await clock.advance(timedelta(seconds=3.5))
        assert (await page(held))[0] == 200

    async def test_one_bot_has_fifty_calls_a_second(self, held: DiscordServer) -> None:
        """H-26: whatever they ask for; beyond that everything of that bot waits, and of that bot alone."""
        world = held.world
        other = world.add_bot("Other")
        for _ in range(50):
            assert (await ask(held, "GET", "/users/@me"))[0] == 200
        status, told, headers = await ask(held, "GET", f"/guilds/{next(iter(world.guilds))}/channels")
        assert (status, told["global"], headers["x-ratelimit-scope"]) == (429, True, "global")
        assert headers["x-ratelimit-global"] == "true"
        assert (await ask(held, "GET", "/users/@me", token=world.token(other)))[0] == 200

    async def test_limits_are_scaled_or_off(self, held: DiscordServer) -> None:
        """A hundredth of the time, or none at all; even then headers let a client ask side by side."""
        held.world.limits.scale = 0.01
        assert (await page(held))[1]["x-ratelimit-reset-after"] == "0.050"
        held.world.limits.scale = 0
        for _ in range(60):
            status, headers = await page(held)
            assert (status, headers["x-ratelimit-remaining"]) == (200, "49")

    async def test_the_client_keeps_to_the_limits(self, discord_server: DiscordServer) -> None:
        """discord.py reads the headers: a walk over many pages meets no refusal."""
        world = discord_server.world
        world.limits.scale = 0.02
        general = world.channel("general")
        for number in range(800):
            world.post(general, f"message {number}")
        async with logged_in(discord_server) as client:
            channel = await client.fetch_channel(general.id)
            assert len([message async for message in channel.history(limit=None)]) == 800
        assert {call.status for call in world.record.calls} == {200}

    @given(
        gaps=st.lists(st.floats(0, 2, allow_nan=False), max_size=60),
        limit=st.integers(1, 5),
        seconds=st.floats(0.5, 5),
    )
    def test_no_window_holds_more_than_its_limit(self, gaps: list[float], limit: int, seconds: float) -> None:
        """Calls let through between two resets are at most the limit, and after the named wait one is let through."""
        limits = Limits(scale=1.0, routes={PAGES: (limit, seconds)}, global_per_s=1000)
        now, begun, used = 0.0, None, 0
        for gap in gaps:
            now += gap
            if begun is None or now >= begun + seconds:
                begun, used = now, 0
            verdict = limits.charge("bot", PAGES, "1", now)
            if used < limit:
                used += 1
                assert (verdict.wait, verdict.remaining) == (0, limit - used)
            else:
                assert verdict.wait == pytest.approx(begun + seconds - now)
                now += verdict.wait + 1e-6
                begun, used = now, 1
                assert limits.charge("bot", PAGES, "1", now).wait == 0


class TestRefusals:
    @pytest.mark.parametrize("scope", ["user", "shared", "global"])
    async def test_a_wait_names_its_scope(self, discord_server: DiscordServer, scope: str) -> None:
        """As header and body say; a shared one does not count against whoever asked."""
        world = discord_server.world
        world.faults.add(Fault(FaultKind.WAIT, PAGES, seconds=1.5, code=scope))
        path = f"/channels/{world.channel('general').id}/messages"
        status, told, headers = await ask(discord_server, "GET", path)
        assert (status, told["retry_after"], told["global"]) == (429, 1.5, scope == "global")
        assert (headers["x-ratelimit-scope"], headers["retry-after"]) == (scope, "2")
        assert ("x-ratelimit-bucket" in headers) == (scope != "global")
        assert len(world.invalid) == (scope != "shared")

    async def test_a_page_for_people_is_no_success(self, discord_server: DiscordServer) -> None:
        """H-27: status 429 with HTML and none of Discord's headers; discord.py takes it for a ban and raises."""
        world = discord_server.world
        general = world.channel("general")
        async with logged_in(discord_server) as client:
            world.faults.add(Fault(FaultKind.HTML_429, PAGES))
            with pytest.raises(discord.HTTPException) as refused:
                await client.http.logs_from(general.id, 100)
        assert refused.value.status == 429
        headers = refused.value.response.headers
        assert not [name for name in headers if name.startswith("X-") or name in ("Via", "Retry-After")]
        world.faults.add(Fault(FaultKind.HTML_429, PAGES, seconds=2.1))
        assert (await page(discord_server))[1]["retry-after"] == "3"

    async def test_too_many_invalid_requests_shut_everybody_out(self, held: DiscordServer) -> None:
        """H-28: 401, 403 and 429 of ten minutes are counted; above the limit all that comes is a page for people."""
        world, clock = held.world, held.clock
        assert isinstance(clock, HeldClock)
        world.limits.invalid = 3
        for _ in range(3):
            assert (await ask(held, "GET", "/users/@me", token="wrong"))[0] == 401
        status, body, headers = await ask(held, "GET", "/users/@me")
        assert (status, "x-ratelimit-limit" in headers, "<h1>" in body) == (429, False, True)
        await clock.advance(timedelta(minutes=11))
        assert (await ask(held, "GET", "/users/@me"))[0] == 200
