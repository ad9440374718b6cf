"""What people ask for: refused where the platform cannot do it, before it looks as if it were done."""

from __future__ import annotations

import json

import pytest

from tidegate.accounts.queries import accounts
from tidegate.app import operator_requests
from tidegate.app.account_documents import account_row, account_rows
from tidegate.app.operator_requests import MirrorRequest
from tidegate.app.setting_sources import load
from tidegate.app.settings import Settings
from tidegate.channels.queries import channels
from tidegate.channels.queries.channels import KnownChannel
from tidegate.core.account import Standing
from tidegate.core.errors import BadInput
from tidegate.core.ids import ChannelId
from tidegate.core.platform import Platform, registered_platforms
from tidegate.database.pool import Database
from tidegate.platforms.discord import DISCORD
from tidegate.platforms.interface import Channel
from tidegate.platforms.telegram import TELEGRAM
from tidegate.platforms.whatsapp import WHATSAPP
from tidegate.reminders import reminder_changes
from tidegate.reminders.queries import reminders
from tidegate.reminders.reminder_parser import read_reminder
from tidegate.workers.queries import commands


@pytest.fixture
async def seen(database: Database) -> dict[Platform, KnownChannel]:
    """One channel of each platform, seen by an account of its own."""
    found: dict[Platform, KnownChannel] = {}
    async with database.transaction() as connection:
        for platform in registered_platforms():
            account = await accounts.add(
                connection, platform.name, platform, Standing.NORMAL, loopback="http://127.0.0.1:1"
            )
            number = ChannelId(100 + len(found))
            await channels.see(connection, platform, account, [Channel(number, title=f"on {platform.name}")])
            found[platform] = await channels.find(connection, str(number))
    return found


REFUSED = [
    (WHATSAPP, MirrorRequest(), "cannot be mirrored"),
    (WHATSAPP, MirrorRequest(full=True), "cannot be mirrored"),
    (DISCORD, MirrorRequest(hashed=True), "not collected on Discord"),
    (DISCORD, MirrorRequest(destination="on telegram"), "not collected on Discord"),
    (TELEGRAM, MirrorRequest(destination="on discord"), "cannot be copied to"),
    (TELEGRAM, MirrorRequest(destination="on whatsapp"), "cannot be copied to"),
]


@pytest.mark.parametrize(("platform", "wanted", "why"), REFUSED)
async def test_what_a_platform_cannot_do_is_refused(
    database: Database, seen: dict[Platform, KnownChannel], platform: Platform, wanted: MirrorRequest, why: str
) -> None:
    """A group that looks mirrored and never is would be a promise nobody keeps."""
    with pytest.raises(BadInput, match=why):
        async with database.transaction() as connection:
            await operator_requests.enable(connection, seen[platform], wanted)
    async with database.connection() as connection:
        assert not (await channels.find(connection, str(seen[platform].number))).enabled


@pytest.mark.parametrize("platform", [platform for platform in registered_platforms() if platform.can_be_mirrored])
async def test_what_it_can_do_is_done(
    database: Database, seen: dict[Platform, KnownChannel], platform: Platform
) -> None:
    """Every message of a channel, on each platform that has them."""
    async with database.transaction() as connection:
        await operator_requests.enable(connection, seen[platform], MirrorRequest(full=True))
        kept = await channels.find(connection, str(seen[platform].number))
    assert (kept.enabled, kept.in_full) == (True, True)


class TestStanding:
    async def test_it_changes_the_pace_and_is_on_record(self, database: Database) -> None:
        """A WhatsApp account's pace can grow: by a person's word, with an event, and the worker is told."""
        async with database.transaction() as connection:
            await accounts.add(connection, "shop", WHATSAPP, Standing.NEW, loopback="http://127.0.0.1:1")
            said = await operator_requests.set_standing(connection, Settings(), "shop", Standing.NORMAL)
            row = await account_row(connection, "shop", Settings())
            asked = await connection.fetchval("SELECT kind FROM commands")
            event = await connection.fetchrow("SELECT subject, data FROM events WHERE kind = 'account.standing_set'")
        assert said == "up to 12 a minute (setting whatsapp_normal_sends_per_minute)"
        assert (row.standing, row.pace, asked) == ("normal", "12 a minute", "look_again")
        assert event is not None
        assert (event["subject"], event["data"]) == ("shop", {"standing": "normal", "was": "new"})

    def test_what_bounds_the_pace_is_named(self) -> None:
        """BOT_MAX_SEND_PER_MINUTE=60 lets no WhatsApp account send faster: the operator is told which setting does."""
        fast = load({"BOT_MAX_SEND_PER_MINUTE": "60"})
        assert any("whatsapp_established_sends_per_minute" in warning for warning in fast.warnings)
        assert fast.settings.pace_in_words(TELEGRAM, Standing.NORMAL) == (
            "up to 60 a minute (setting max_send_per_minute)"
        )
        slow = Settings(max_send_per_minute=10)
        assert slow.pace_in_words(WHATSAPP, Standing.ESTABLISHED) == ("up to 10 a minute (setting max_send_per_minute)")

    async def test_it_is_offered_once_it_is_earned(self, database: Database) -> None:
        """With the reason and the command; an account that was added today is offered nothing."""
        async with database.transaction() as connection:
            for name in ("old", "young"):
                await accounts.add(connection, name, WHATSAPP, Standing.NEW, loopback="http://127.0.0.1:1")
                await operator_requests.set_standing(connection, Settings(warm_up=False), name, Standing.NEW)
            await connection.execute("UPDATE pace SET claimed_at = clock_now()")
            await connection.execute("UPDATE accounts SET made_at = clock_now() - interval '8 days' WHERE name = 'old'")
            offers = {row.name: row.offer for row in await account_rows(connection, Settings())}
        assert "tidegate account set old --standing normal" in str(offers["old"])
        assert "warm-up is over" in str(offers["old"])
        assert offers["young"] is None


async def test_a_renamed_account_keeps_everything(database: Database, seen: dict[Platform, KnownChannel]) -> None:
    """Its reminders name it by its new name, its commands stay, and the feed says what it was called."""
    written = {"name": "Friday stock", "account": "telegram", "all": True, "parts": [{"text": "Hello"}]}
    async with database.transaction() as connection:
        await reminder_changes.add(connection, read_reminder(json.dumps(written)), {})
        account = (await accounts.find(connection, "telegram")).account.id
        asked = await commands.ask(connection, account, "cycle", {})
        await operator_requests.rename(connection, "telegram", "Ada 2")
    async with database.connection() as connection:
        kept = await reminders.find(connection, "Friday stock")
        assert (kept.account, kept.account_name, kept.reminder.account) == (account, "Ada 2", "Ada 2")
        assert (await channels.find(connection, str(seen[TELEGRAM].number))).seen_by == 1
        assert await connection.fetchval("SELECT account FROM commands WHERE id = $1", asked) == account
        event = await connection.fetchrow("SELECT subject, data FROM events WHERE kind = 'account.renamed'")
    assert event is not None
    assert dict(event) == {"subject": "Ada 2", "data": {"was": "telegram"}}


@pytest.mark.usefixtures("seen")
@pytest.mark.parametrize(
    ("new", "sentence"), [("discord", "already"), (" x", "without spaces"), ("", "needs a name"), ("a\nb", "one line")]
)
async def test_a_name_that_cannot_be_had_changes_nothing(database: Database, new: str, sentence: str) -> None:
    """bad-input-gets-a-sentence: another account has it, or it cannot be typed."""
    async with database.transaction() as connection:
        with pytest.raises(BadInput, match=sentence):
            await operator_requests.rename(connection, "telegram", new)
    async with database.connection() as connection:
        assert (await accounts.find(connection, "telegram")).account.platform is TELEGRAM
