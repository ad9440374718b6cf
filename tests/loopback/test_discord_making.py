"""Discord worlds made to order, and kept over a restart."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.held import NOON
from tests.loopback.bots import logged_in
from tidegate.core.clock import HeldClock, SystemClock
from tidegate.core.errors import BadInput
from tidegate.loopback.discord import DiscordServer, World
from tidegate.loopback.discord.world import threads
from tidegate.loopback.discord.world.messages.reactions import add_reaction
from tidegate.loopback.discord.world.permissions import Permission
from tidegate.loopback.discord.world.places import ChannelKind
from tidegate.loopback.discord.world.schema import DiscordSpec
from tidegate.loopback.discord.world.world_builder import SMALL_WORLD, make_world
from tidegate.loopback.discord.world.world_snapshot import from_plain, to_plain


def order(*channels: dict[str, object], **guild: object) -> DiscordSpec:
    """A world of one guild with these channels."""
    made = {"name": "Harbour", **({"channels": list(channels)} if channels else {}), **guild}
    return DiscordSpec.model_validate({"guilds": [made]})


def made(spec: DiscordSpec, seed: int = 1) -> World:
    return make_world(spec, HeldClock(NOON), seed=seed)


class TestMaking:
    @settings(max_examples=5)
    @given(seed=st.integers(0, 100))
    def test_equal_input_gives_an_equal_world(self, seed: int) -> None:
        """Whenever it is made; another seed gives other ids and tokens."""
        one = to_plain(make_world(SMALL_WORLD, HeldClock(NOON), seed=seed), 1)
        assert one == to_plain(make_world(SMALL_WORLD, SystemClock(), seed=seed), 1)
        other = make_world(SMALL_WORLD, HeldClock(NOON), seed=seed + 1)
        same = make_world(SMALL_WORLD, HeldClock(NOON), seed=seed)
        assert set(other.bots) != set(same.bots)
        assert [other.token(bot) for bot in other.bots.values()] != [same.token(bot) for bot in same.bots.values()]

    def test_a_large_world_is_made_at_once(self) -> None:
        """500 channels with a million messages each: nothing is computed before somebody looks."""
        world = made(order(channels=500, threads=200, messages=1_000_000))
        guild = next(iter(world.guilds.values()))
        channels = list(world.channels_of(guild))
        assert (len(channels), len(list(world.threads_of(guild)))) == (500, 200)
        assert len(channels[0].history) == 1_000_000
        assert [message.id for message in channels[7].history.before(None, 1)] == [channels[7].head]
        assert all(channel.id < channel.history.after(0, 1)[0].id for channel in channels)

    def test_no_two_things_share_an_id(self) -> None:
        """Though channels are made with messages of the same minutes."""
        world = made(order(channels=30, threads=30, messages=20))
        ids = [message.id for channel in world.channels.values() for message in channel.history]
        ids += [channel.id for channel in world.channels.values()]
        ids += [*world.bots, *world.people, *world.guilds]
        assert len(ids) == len(set(ids))

    def test_a_forum_post_begins_with_a_message_of_its_own_id(self) -> None:
        """The forum's head is its newest thread, and a starter does not count among the messages."""
        world = made(
            order({"name": "ideas", "kind": "forum", "threads": [{"name": "a", "messages": 3}, {"name": "b"}]})
        )
        first, second = world.channel("a"), world.channel("b")
        assert [first.history.get(first.id) is not None, len(first.history), first.thread and first.thread.sent] == [
            True,
            3,
            2,
        ]
        assert (second.head, len(second.history)) == (second.id, 1)
        assert world.channel("ideas").head == max(first.id, second.id)

    def test_rights_are_as_the_world_says(self) -> None:
        """Roles grant, channels overwrite for everyone, a role or one bot, and an administrator may do everything."""
        spec = DiscordSpec.model_validate(
            {
                "bots": [{"name": "one"}, {"name": "two"}, {"name": "three"}, {"name": "out"}],
                "guilds": [
                    {
                        "name": "Harbour",
                        "bots": ["one", "two", "three"],
                        "permissions": ["VIEW_CHANNEL"],
                        "roles": [
                            {"name": "reader", "permissions": ["READ_MESSAGE_HISTORY"]},
                            {"name": "captain", "permissions": ["ADMINISTRATOR"]},
                        ],
                        "bot_roles": {"one": ["reader"], "two": ["captain"]},
                        "channels": [
                            {"name": "open"},
                            {"name": "hidden", "overwrites": [{"deny": ["VIEW_CHANNEL"]}]},
                            {
                                "name": "readers",
                                "overwrites": [
                                    {"deny": ["VIEW_CHANNEL"]},
                                    {"role": "reader", "allow": ["VIEW_CHANNEL"]},
                                    {"bot": "one", "deny": ["READ_MESSAGE_HISTORY"]},
                                ],
                            },
                        ],
                    }
                ],
            }
        )
        world = made(spec)
        one, two, three, out = world.bots
        seen = {name: world.may(one, world.channel(name)) for name in ("open", "hidden", "readers")}
        assert seen["open"] == Permission.VIEW_CHANNEL | Permission.READ_MESSAGE_HISTORY
        assert seen["hidden"] == Permission(0)
        assert seen["readers"] == Permission.VIEW_CHANNEL
        assert Permission.MANAGE_THREADS in world.may(two, world.channel("hidden"))
        assert world.may(three, world.channel("readers")) == Permission(0)
        assert world.may(three, world.channel("open")) == Permission.VIEW_CHANNEL
        assert world.may(out, world.channel("open")) == Permission(0)
        member = world.guilds[world.channel("open").guild].members[one]
        member.timed_out_until = NOON + timedelta(minutes=1)
        assert world.may(one, world.channel("open")) == seen["open"]

    @pytest.mark.parametrize(
        ("channel", "problem"),
        [
            ({"name": "a", "kind": "forum", "messages": 1}, "holds no messages"),
            ({"name": "a", "kind": "voice", "threads": 1}, "has no threads"),
            ({"name": "a", "kind": "news", "threads": [{"name": "b", "private": True}]}, "is private"),
            ({"name": "a", "category": "none"}, "no category"),
            ({"name": "a", "messages": 1_000_000, "every_s": 3600}, "reach back"),
            ({"name": "a", "overwrites": [{"role": "none"}]}, "no role"),
            ({"name": "a", "threads": [{"name": "b", "joined": ["nobody"]}]}, "no bot"),
        ],
    )
    def test_what_contradicts_itself_is_refused(self, channel: dict[str, object], problem: str) -> None:
        """bad-input-gets-a-sentence: the sentence names the channel or what is missing."""
        with pytest.raises(BadInput, match=problem):
            made(order(channel))


class TestKeeping:
    async def test_all_that_happened_survives_a_restart(self, discord_server: DiscordServer) -> None:
        """Messages of all ages, files, edits, deletions, reactions, threads, nonces, tokens and the record."""
        world = discord_server.world
        guild = next(iter(world.guilds.values()))
        bot = next(iter(world.bots.values()))
        large = make_world(SMALL_WORLD, world.clock, seed=7)
        general = world.channel("general")
        general.history = large.channel("general").history
        old = [message.id for message in general.history.before(None, 3)]
        world.edit(general, old[0], text="edited")
        world.delete(general, old[1:2])
        world.post(general, "a file", attachments=[world.attachment("a.bin", b"\xff\x00")])
        add_reaction(world, general, old[0], "👍", bot.id)
        forum = world.add_channel(guild, "ideas", ChannelKind.FORUM)
        world.archive(threads.start(world, forum, "sails"), archived=True)
        world.renew_token(bot)
        async with logged_in(discord_server) as client:
            await client.http.request(
                _route("POST", general.id), json={"content": "hi", "nonce": "n1", "enforce_nonce": True}
            )
        plain = to_plain(world, discord_server.port)

        again, port = from_plain(json.loads(json.dumps(plain)), SystemClock())
        assert port == discord_server.port
        assert to_plain(again, port) == plain
        assert again.channel("general").history == general.history
        assert again.token(again.bots[bot.id]) == world.token(bot)
        assert again.new_id() > world.newest_id
        discord_server.replace_world(again)
        async with logged_in(discord_server) as client:
            sent = await client.http.request(
                _route("POST", general.id), json={"content": "hi", "nonce": "n1", "enforce_nonce": True}
            )
        assert int(sent["id"]) == general.head
        assert again.record.by_method()["POST /channels/{channel.id}/messages"] == 2
        assert len(again.record.sends) == 1


def _route(verb: str, channel: int) -> object:
    from discord.http import Route

    return Route(verb, "/channels/{channel_id}/messages", channel_id=channel)
