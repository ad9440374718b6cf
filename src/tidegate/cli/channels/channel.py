"""``tidegate channel``: which channels accounts can see, and which are mirrored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tidegate.cli import command_runner
from tidegate.cli.channels.channel_text import channel_lines, mirroring, place_of, topic_lines
from tidegate.cli.options import AccountName, Json, PlatformName
from tidegate.core import terminal
from tidegate.core.errors import NothingToDo
from tidegate.core.ids import TopicId
from tidegate.core.rules.natural_order import NaturalKey, natural_key
from tidegate.core.rules.readable_values import counted

if TYPE_CHECKING:
    from tidegate.app.operator_requests import MirrorRequest

app = typer.Typer(help="Channels: what accounts can see, and what is mirrored.", no_args_is_help=True)

Named = Annotated[str, typer.Argument(metavar="CHANNEL", help="The channel's title or number.")]


@app.command()
def sync(
    account: AccountName,
    person: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            min=1,
            max=2**63 - 1,
            help="Only find the private chat with this person, where no list has it.",
        ),
    ] = None,
    *,
    json: Json = False,
) -> None:
    """Refresh the list of channels an account can see. Topics of mirrored forums too."""
    command_runner.run(_sync(account, person, as_json=json))


async def _sync(name: str, person: int | None, *, as_json: bool) -> None:
    from tidegate.accounts.queries import accounts
    from tidegate.app.account_commands import ask_account

    async with command_runner.runtime() as runtime:
        async with runtime.database.connection() as connection:
            account = (await accounts.find(connection, name)).account
        result = await ask_account(runtime, account, "sync", {} if person is None else {"person": person})
    if as_json:
        terminal.print_json(result)
    elif person is not None:
        terminal.say(f"The direct messages are known. Mirror them: tidegate channel enable {result['chat']}")
    else:
        seen = counted(result["channels"], "channel")
        terminal.say(f'Account "{name}" sees {seen}. Mirror one: tidegate channel enable CHANNEL')


@app.command("list")
def list_(
    account: Annotated[
        str | None, typer.Option(metavar="NAME", help="Show only channels that this account can see.")
    ] = None,
    platform: Annotated[
        PlatformName | None, typer.Option(metavar="PLATFORM", help=f"One of {', '.join(PlatformName)}.")
    ] = None,
    mirrored: Annotated[
        bool | None,
        typer.Option("--mirrored/--not-mirrored", help="Show only channels that are mirrored, or that are not."),
    ] = None,
    *,
    json: Json = False,
) -> None:
    """List channels: platform, server, account, mirrored, state."""
    command_runner.run(_list(account, platform, mirrored=mirrored, as_json=json))


async def _list(name: str | None, platform: str | None, *, mirrored: bool | None, as_json: bool) -> None:
    from tidegate.accounts.queries import accounts
    from tidegate.channels.queries import channels
    from tidegate.core.platform import platform_named
    from tidegate.history.channel_documents import channel_row

    wanted = None if platform is None else platform_named(platform)
    async with command_runner.runtime() as runtime, runtime.database.connection() as connection:
        account = None if name is None else (await accounts.find(connection, name)).account.id
        known = await channels.listing(connection, account, platform=wanted, enabled=mirrored)
    rows = [asdict(channel_row(one)) for one in sorted(known, key=lambda one: natural_key(one.title))]
    if as_json:
        terminal.print_json(rows)
        return
    empty = "No channels are known yet; list what an account sees with: tidegate channel sync ACCOUNT"
    if name is not None or platform is not None or mirrored is not None:
        empty = "No channels match."
    _print_list(rows, empty)


def _print_list(rows: list[dict[str, Any]], empty: str) -> None:
    lines = [
        [place_of(row), row["channel"], row["platform"], row["server"], row["reader"], mirroring(row),
         row["state"].replace("_", " ")]
        for row in rows
    ]  # fmt: skip
    columns = ["title", "id", "platform", "server", "account", "mirrored", "state"]
    terminal.print_table(columns, sorted(lines, key=_by_place), empty=empty, important="title")


def _by_place(line: Sequence[Any]) -> tuple[NaturalKey, ...]:
    """Channels of a server stand together, and threads under their channel."""
    return natural_key(line[2]), natural_key(line[3]), natural_key(line[0])


@app.command()
def show(channel: Named, *, json: Json = False) -> None:
    """Show one channel: last check, history, gaps and topics."""
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
    terminal.print_values(channel_lines(shown))
    if shown["topics"]:
        terminal.print_line("")
        columns = ["topic", "title", "mirrored", "newest message", "last check"]
        terminal.print_table(columns, topic_lines(shown["topics"]), empty="", important="title")


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
    what = f"{counted(len(wanted.topics), 'topic')} of " if wanted.topics else ""
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
