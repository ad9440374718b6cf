"""``tidegate channel``: which channels accounts can see, and which are mirrored."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate.cli import command_runner
from tidegate.cli.options import AccountName, Json
from tidegate.core import terminal
from tidegate.core.errors import NothingToDo
from tidegate.core.ids import TopicId

if TYPE_CHECKING:
    from tidegate.app.operator_requests import MirrorRequest

app = typer.Typer(help="Channels: what accounts can see, and what is mirrored.", no_args_is_help=True)

Named = Annotated[str, typer.Argument(metavar="CHANNEL", help="The channel's title or number.")]


@app.command()
def sync(account: AccountName, *, json: Json = False) -> None:
    """Refresh the list of channels an account can see, and the topics of its mirrored forums."""
    command_runner.run(_sync(account, as_json=json))


async def _sync(name: str, *, as_json: bool) -> None:
    from tidegate.accounts.queries import accounts
    from tidegate.app.account_commands import ask_account

    async with command_runner.runtime() as runtime:
        async with runtime.database.connection() as connection:
            account = (await accounts.find(connection, name)).account
        result = await ask_account(runtime, account, "sync", {})
    if as_json:
        terminal.print_json(result)
    else:
        terminal.say(
            f'Account "{name}" sees {result["channels"]} channels. Mirror one: tidegate channel enable CHANNEL'
        )


@app.command("list")
def list_(
    account: Annotated[
        str | None, typer.Option(metavar="NAME", help="Show only channels that this account can see.")
    ] = None,
    *,
    json: Json = False,
) -> None:
    """List channels: the account that reads each, whether it is mirrored, and its state."""
    command_runner.run(_list(account, as_json=json))


async def _list(name: str | None, *, as_json: bool) -> None:
    from tidegate.accounts.queries import accounts
    from tidegate.channels.queries import channels
    from tidegate.history.channel_documents import channel_row

    async with command_runner.runtime() as runtime, runtime.database.connection() as connection:
        account = None if name is None else (await accounts.find(connection, name)).account.id
        rows = [asdict(channel_row(one)) for one in await channels.listing(connection, account)]
    if as_json:
        terminal.print_json(rows)
        return
    columns = ["title", "channel", "enabled", "reader", "state", "forum", "topics", "full"]
    empty = "No channels are known yet; list what an account sees with: tidegate channel sync ACCOUNT"
    terminal.print_rows(columns, rows, empty=empty)


@app.command()
def show(channel: Named, *, json: Json = False) -> None:
    """Show one channel: last scan, coverage, gaps, last verdict and topics."""
    command_runner.run(_show(channel, as_json=json))


async def _show(named: str, *, as_json: bool) -> None:
    from tidegate.app.policies import policy_of
    from tidegate.channels.queries import channels
    from tidegate.history.channel_documents import channel_shown

    async with command_runner.runtime() as runtime, runtime.database.connection() as connection:
        kept = await channels.find(connection, named)
        policy = policy_of(runtime.settings)
        shown = asdict(await channel_shown(connection, kept, policy.scans, policy.retries))
    if as_json:
        terminal.print_json(shown)
        return
    topics = shown.pop("topics")
    terminal.print_values(shown.items())
    if topics:
        columns = ["topic", "title", "selected", "newest_seen", "last_scanned_at", "verdict"]
        terminal.print_table(columns, ([topic[column] for column in columns] for topic in topics), empty="")


@app.command()
def enable(
    channel: Named,
    topic: Annotated[
        list[int] | None, typer.Option(metavar="N", min=1, help="Mirror only this topic. May be repeated.")
    ] = None,
    *,
    full: Annotated[bool, typer.Option("--full", help="Mirror all messages, not only archives.")] = False,
    hash_: Annotated[
        bool, typer.Option("--hash", help="Detect duplicate archives by content. Downloads each archive.")
    ] = False,
    destination: Annotated[
        str | None, typer.Option(metavar="CHANNEL", help="Copy its archives to this channel.")
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the bytes of its archives, whatever their size.")] = False,
) -> None:
    """Mirror a channel, starting with the next cycle."""
    from tidegate.app.operator_requests import MirrorRequest

    topics = [TopicId(number) for number in topic or ()]
    command_runner.run(
        _enable(channel, MirrorRequest(topics, full=full, hashed=hash_, destination=destination, keep=keep))
    )


async def _enable(named: str, wanted: MirrorRequest) -> None:
    from tidegate.app import operator_requests
    from tidegate.channels.queries import channels

    async with command_runner.runtime() as runtime, runtime.database.transaction() as connection:
        kept = await channels.find(connection, named)
        remark = await operator_requests.enable(connection, kept, wanted)
    what = f"{len(wanted.topics)} topics of " if wanted.topics else ""
    terminal.say(f'The next cycle mirrors {what}"{kept.title}". {remark}'.rstrip())


@app.command()
def disable(channel: Named) -> None:
    """Stop mirroring a channel. Stored messages stay."""
    command_runner.run(_disable(channel))


async def _disable(named: str) -> None:
    from tidegate.channels.queries import channels

    async with command_runner.runtime() as runtime, runtime.database.transaction() as connection:
        kept = await channels.find(connection, named)
        if not await channels.disable(connection, kept):
            raise NothingToDo(f'"{kept.title}" was not mirrored.')
    terminal.say(f'"{kept.title}" is no longer mirrored.')
