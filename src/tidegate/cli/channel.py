"""``tidegate channel``: what accounts can see, what is mirrored, and what is remembered of it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tidegate.cli import shell
from tidegate.errors import BadInput, NothingToDo

if TYPE_CHECKING:
    import asyncpg

    from tidegate.rules.history import Content, Coverage
    from tidegate.store.channels import Kept
    from tidegate.store.database import Connection

app = typer.Typer(help="Channels: what accounts see, and what is mirrored.", no_args_is_help=True)

Named = Annotated[str, typer.Argument(metavar="CHANNEL", help="The channel's title or number.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


@app.command()
def sync(account: Annotated[str, typer.Argument(help="The account's name.")], *, json: Json = False) -> None:
    """List what an account can see now, and the topics of its mirrored forums."""
    shell.run(_sync(account, as_json=json))


async def _sync(name: str, *, as_json: bool) -> None:
    from tidegate.mirroring import ask_account
    from tidegate.store import accounts

    async with shell.house() as house:
        async with house.database.connection() as connection:
            account = (await accounts.find(connection, name)).account
        told = await ask_account(house, account, "sync", {})
    if as_json:
        shell.print_json(told)
    else:
        shell.say(f'Account "{name}" sees {told["channels"]} channels. Mirror one: tidegate channel enable CHANNEL')


@app.command("list")
def list_(
    account: Annotated[str | None, typer.Option(help="Only those this account sees.")] = None, *, json: Json = False
) -> None:
    """List channels: who reads them, whether they are mirrored, and their state."""
    shell.run(_list(account, as_json=json))


async def _list(name: str | None, *, as_json: bool) -> None:
    from tidegate.store import accounts, channels

    async with shell.house() as house, house.database.connection() as connection:
        account = None if name is None else (await accounts.find(connection, name)).account.id
        rows = [_row(one) for one in await channels.listing(connection, account)]
    if as_json:
        shell.print_json(rows)
        return
    columns = ["title", "channel", "enabled", "reader", "state", "forum", "topics", "full"]
    empty = "No channels are known yet; list what an account sees with: tidegate channel sync ACCOUNT"
    shell.print_table(columns, ([row[column] for column in columns] for row in rows), empty=empty)


def _row(kept: Kept) -> dict[str, Any]:
    return {
        "channel": kept.number,
        "title": kept.title,
        "platform": kept.platform.value,
        "reader": kept.reader_name,
        "enabled": kept.enabled,
        "state": "unreadable" if kept.enabled and not kept.seen_by else kept.state,
        "kind": kept.kind,
        "parent": kept.parent,
        "remark": kept.remark,
        "forum": kept.forum,
        "topics": "selected" if kept.by_topic else "all",
        "full": kept.in_full,
        "hash": kept.hashed,
        "protected": kept.protected,
    }


@app.command()
def show(channel: Named, *, json: Json = False) -> None:
    """Show one channel: memory, coverage, gaps, last verdict, topics."""
    shell.run(_show(channel, as_json=json))


async def _show(named: str, *, as_json: bool) -> None:
    from tidegate.store import channels

    async with shell.house() as house, house.database.connection() as connection:
        shown = await _shown(connection, await channels.find(connection, named))
    if as_json:
        shell.print_json(shown)
        return
    topics = shown.pop("topics")
    shell.print_table(["what", "value"], ((key.replace("_", " "), value) for key, value in shown.items()), empty="")
    if topics:
        columns = ["topic", "title", "selected", "newest_seen", "last_scanned_at", "verdict"]
        shell.print_table(columns, ([topic[column] for column in columns] for topic in topics), empty="")


async def _shown(connection: Connection, kept: Kept) -> dict[str, Any]:
    from tidegate.store import archives, coverage, messages, places

    rows = await places.shown(connection, kept.key)
    whole = next((row for row in rows if row["topic"] == 0), None)
    covered = await coverage.load(connection, kept.key)
    head = whole["newest_seen"] if whole else 0
    return {
        **_row(kept),
        **_memory(whole),
        "next_due_at": _instant(await _next_due_at(connection, kept, whole)),
        "messages": await messages.count(connection, kept.key),
        "archives": await archives.count(connection, kept.key),
        "coverage": _spans(covered, head=None),
        "gaps": _spans(covered, head=head),
        "topics": [_topic(row) for row in rows if row["topic"] != 0],
    }


async def _next_due_at(connection: Connection, kept: Kept, whole: asyncpg.Record | None) -> datetime | None:
    """When an enabled channel is looked at next; None for one that is not mirrored."""
    from tidegate.mirroring import habits_of
    from tidegate.store import agenda

    if not kept.enabled or whole is None:
        return None
    habits = habits_of(shell.settings())
    return await agenda.next_due_at(connection, kept.reader, whole, habits.scans, habits.retries.cycle_interval)


def _memory(row: asyncpg.Record | None) -> dict[str, Any]:
    names = ["watermark", "last_scanned_at", "last_scan_found_archives", "consecutive_empty_scans", "verdict"]
    found = {name: row[name] if row else None for name in names}
    return {**found, "last_scanned_at": _instant(found["last_scanned_at"])}


def _topic(row: asyncpg.Record) -> dict[str, Any]:
    return {
        "topic": row["topic"],
        "title": row["title"],
        "selected": row["selected"],
        "gone": row["gone_at"] is not None,
        "newest_seen": row["newest_seen"],
        **_memory(row),
    }


def _instant(at: Any) -> str | None:
    return None if at is None else at.isoformat()


def _spans(covered: dict[Content, Coverage], *, head: int | None) -> dict[str, list[list[int]]]:
    """Coverage as both ends of each stretch; with a *head*, what is missing up to it."""

    def shown(known: Coverage) -> Iterable[tuple[int, int]]:
        return known.spans if head is None else known.gaps(head=head) if head else []

    return {kind.value: [[low, high] for low, high in shown(known)] for kind, known in covered.items()}


@app.command()
def enable(
    channel: Named,
    topic: Annotated[
        list[int] | None, typer.Option(metavar="N", min=1, help="Follow this topic on its own; may be given often.")
    ] = None,
    *,
    full: Annotated[bool, typer.Option("--full", help="Mirror all messages, not archives alone.")] = False,
    hash_: Annotated[bool, typer.Option("--hash", help="Tell archives apart by their content.")] = False,
    destination: Annotated[str | None, typer.Option(metavar="CHANNEL", help="Where its archives are filed to.")] = None,
) -> None:
    """Mirror a channel from the next cycle on."""
    shell.run(_enable(channel, topic or [], destination, full=full, hashed=hash_))


async def _enable(named: str, topics: list[int], destination: str | None, *, full: bool, hashed: bool) -> None:
    from tidegate.store import channels, filing
    from tidegate.store.channels import Wishes

    async with shell.house() as house, house.database.transaction() as connection:
        kept = await channels.find(connection, named)
        unchecked = await _check_topics(connection, kept, topics) if topics else ""
        target = None if destination is None else (await channels.find(connection, destination)).key
        if target == kept.key:
            raise BadInput("A channel cannot be its own destination; name another one.")
        if target is not None and await filing.goes_round(connection, kept.key, target):
            raise BadInput("Its archives would be filed on from there until they are back; name another destination.")
        await channels.enable(connection, kept, Wishes(tuple(topics), full, hashed, target))
    what = f"{len(topics)} topics of " if topics else ""
    unseen = "" if kept.seen_by else " No account sees it at the moment: tidegate channel sync ACCOUNT."
    shell.say(f'The next cycle mirrors {what}"{kept.title}".{unchecked}{unseen}')


async def _check_topics(connection: Connection, kept: Kept, topics: list[int]) -> str:
    """Refuse topics that cannot be there; a sentence where nobody knows yet, since this command asks no platform."""
    from tidegate.store import channels

    if not kept.forum:
        raise BadInput(f'"{kept.title}" is no forum, so it has no topics; leave --topic out.')
    unknown = ", ".join(map(str, await channels.unknown_topics(connection, kept.key, topics)))
    if not unknown:
        return ""
    if await channels.topics_were_listed(connection, kept.key):
        raise BadInput(
            f'"{kept.title}" has no topic {unknown} that Tidegate knows of. See its topics with: tidegate channel show '
            f"{kept.number}; one that is new is known after: tidegate channel sync ACCOUNT."
        )
    return (
        f" Its topics were never listed: the first cycle checks {unknown}, and what is not there is shown as gone in "
        "tidegate channel show."
    )


@app.command()
def disable(channel: Named) -> None:
    """Mirror a channel no more; what is stored stays."""
    shell.run(_disable(channel))


async def _disable(named: str) -> None:
    from tidegate.store import channels

    async with shell.house() as house, house.database.transaction() as connection:
        kept = await channels.find(connection, named)
        if not await channels.disable(connection, kept):
            raise NothingToDo(f'"{kept.title}" was not mirrored.')
    shell.say(f'"{kept.title}" is no longer mirrored.')
