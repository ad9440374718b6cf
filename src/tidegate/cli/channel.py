"""``tidegate channel``: what accounts can see, what is mirrored, and what is remembered of it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate.cli import shell
from tidegate.errors import NothingToDo

if TYPE_CHECKING:
    from tidegate.steering import Mirroring

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
    from tidegate.shapes.channels import channel_row
    from tidegate.store import accounts, channels

    async with shell.house() as house, house.database.connection() as connection:
        account = None if name is None else (await accounts.find(connection, name)).account.id
        rows = [asdict(channel_row(one)) for one in await channels.listing(connection, account)]
    if as_json:
        shell.print_json(rows)
        return
    columns = ["title", "channel", "enabled", "reader", "state", "forum", "topics", "full"]
    empty = "No channels are known yet; list what an account sees with: tidegate channel sync ACCOUNT"
    shell.print_table(columns, ([row[column] for column in columns] for row in rows), empty=empty)


@app.command()
def show(channel: Named, *, json: Json = False) -> None:
    """Show one channel: memory, coverage, gaps, last verdict, topics."""
    shell.run(_show(channel, as_json=json))


async def _show(named: str, *, as_json: bool) -> None:
    from tidegate.shapes.channels import channel_shown
    from tidegate.store import channels

    async with shell.house() as house, house.database.connection() as connection:
        kept = await channels.find(connection, named)
        shown = asdict(await channel_shown(connection, kept, house.settings))
    if as_json:
        shell.print_json(shown)
        return
    topics = shown.pop("topics")
    shell.print_table(["what", "value"], ((key.replace("_", " "), value) for key, value in shown.items()), empty="")
    if topics:
        columns = ["topic", "title", "selected", "newest_seen", "last_scanned_at", "verdict"]
        shell.print_table(columns, ([topic[column] for column in columns] for topic in topics), empty="")


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
    from tidegate.steering import Mirroring

    shell.run(_enable(channel, Mirroring(topic or [], full=full, hashed=hash_, destination=destination)))


async def _enable(named: str, wanted: Mirroring) -> None:
    from tidegate import steering
    from tidegate.store import channels

    async with shell.house() as house, house.database.transaction() as connection:
        kept = await channels.find(connection, named)
        remark = await steering.enable(connection, kept, wanted)
    what = f"{len(wanted.topics)} topics of " if wanted.topics else ""
    shell.say(f'The next cycle mirrors {what}"{kept.title}". {remark}'.rstrip())


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
