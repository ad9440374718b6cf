"""``tidegate media``: the files of messages, which of them are kept, and where."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate.cli import command_runner
from tidegate.cli.options import Json
from tidegate.core import terminal
from tidegate.core.errors import BadInput, NothingToDo, NotThere, TidegateError
from tidegate.core.ids import FileId, Sha256
from tidegate.core.rules.readable_values import readable_size

if TYPE_CHECKING:
    from tidegate.media.policy_requests import PolicyRequest

app = typer.Typer(help="Files of messages: which are kept, and why others are not.", no_args_is_help=True)

Channel = Annotated[str | None, typer.Option(metavar="CHANNEL", help="Only this channel (title or number).")]
Account = Annotated[str | None, typer.Option(metavar="NAME", help="Only channels that this account reads.")]
_SIZES = ("total_limit", "default_largest", "stored_bytes")
_STATES = ("wanted", "kept", "skipped", "failed", "gone")


@app.command("list")
def list_(
    channel: Channel = None,
    state: Annotated[
        list[str] | None, typer.Option(metavar="STATE", help="Only files in this state. May be repeated.")
    ] = None,
    kind: Annotated[
        list[str] | None, typer.Option(metavar="KIND", help="Only files of this kind. May be repeated.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="Maximum number of files.")] = 200,
    *,
    json: Json = False,
) -> None:
    """List files, their state, and why one is not kept; the newest first."""
    command_runner.run(_list(channel, state or [], kind or [], limit, as_json=json))


async def _list(named: str | None, states: list[str], kinds: list[str], limit: int, *, as_json: bool) -> None:
    from tidegate.channels.queries import channels
    from tidegate.media.documents import media_row
    from tidegate.media.queries import file_list
    from tidegate.media.rules.media_policy import PolicyKind

    _require("state", states, _STATES)
    _require("kind", kinds, [one.value for one in PolicyKind])
    async with command_runner.runtime() as runtime, runtime.database.connection() as connection:
        key = None if named is None else (await channels.find(connection, named)).key
        found = await file_list.listing(connection, channel=key, states=states, kinds=kinds, most=limit)
    rows = [asdict(media_row(one)) for one in found]
    if as_json:
        terminal.print_json(rows)
        return
    terminal.print_table(
        ["channel", "message", "name", "kind", "size", "state", "reason", "sha256"],
        (
            [
                row["title"], row["message"], row["name"], row["kind"], readable_size(row["size"]), row["state"],
                row["reason"],
                row["sha256"],
            ]
            for row in rows
        ),
        empty="No files. Whether any are kept: tidegate media policy",
    )  # fmt: skip


@contextmanager
def _progress(*, as_json: bool) -> Iterator[Callable[[str], None]]:
    """Shows how far long work is, to people."""
    if as_json:
        yield lambda _: None
        return
    with terminal.changing_line() as show:
        yield show


def _require(what: str, given: list[str], known: list[str] | tuple[str, ...]) -> None:
    if unknown := sorted(set(given) - set(known)):
        raise BadInput(f"There is no {what} {', '.join(unknown)}; there are {', '.join(known)}.")


@app.command()
def policy(
    *,
    account: Account = None,
    channel: Channel = None,
    kind: Annotated[
        str | None,
        typer.Option(metavar="KIND", help="Only files of this kind: picture, video, voice, document, sticker, avatar."),
    ] = None,
    action: Annotated[
        str | None, typer.Option(metavar="ACTION", help="What to do with these files: keep, thumbnail or no.")
    ] = None,
    largest: Annotated[str | None, typer.Option(metavar="SIZE", help="The largest file that is kept.")] = None,
    beyond: Annotated[
        str | None, typer.Option(metavar="ACTION", help="What to do with larger files: thumbnail or no.")
    ] = None,
    channel_limit: Annotated[
        str | None, typer.Option(metavar="SIZE", help="The most that is kept of one channel.")
    ] = None,
    total_limit: Annotated[
        str | None, typer.Option(metavar="SIZE", help="The most that is kept in all; auto goes by the disk.")
    ] = None,
    on: Annotated[bool | None, typer.Option("--on/--off", help="Keep files, or fetch none.")] = None,
    protected: Annotated[
        bool | None,
        typer.Option("--protected/--no-protected", help="Also keep files whose sender forbids saving."),
    ] = None,
    reset: Annotated[bool, typer.Option("--reset", help="Remove the rules of this place and kind.")] = False,
    json: Json = False,
) -> None:
    """Show which files are kept, or change it. Without options it shows the policy and what is stored."""
    from tidegate.media.policy_requests import PolicyRequest

    asked = PolicyRequest(
        account, channel, kind, action, largest, beyond, channel_limit, total_limit, on, protected, reset
    )
    command_runner.run(_policy(asked, as_json=json))


async def _policy(asked: PolicyRequest, *, as_json: bool) -> None:
    from tidegate.media.documents import policy_document
    from tidegate.media.policy_requests import change_policy

    async with command_runner.runtime() as runtime:
        async with runtime.database.transaction() as connection:
            changed = await change_policy(connection, asked)
        async with runtime.database.connection() as connection:
            shown = asdict(await policy_document(connection))
    if as_json:
        terminal.print_json(shown)
        return
    if changed:
        terminal.say("The policy is changed. Workers apply it to new files now, and to stored ones in the background.")
    rules, totals = shown.pop("rules"), shown.pop("totals")
    sizes = {name: size for name, size in shown.items() if size is not None and name in _SIZES}
    shown |= {name: readable_size(size) for name, size in sizes.items()}
    terminal.print_values(shown.items())
    for rule in rules:
        rule |= {name: readable_size(rule[name]) for name in ("largest", "channel_limit") if rule[name] is not None}
    if rules:
        terminal.print_rows(["account", "title", "kind", "action", "largest", "beyond", "channel_limit"], rules)
    counts = [[one["kind"], one["state"], one["files"], readable_size(one["bytes"])] for one in totals]
    terminal.print_table(["kind", "state", "files", "size"], counts, empty="")


@app.command()
def fetch(
    account: Annotated[str | None, typer.Argument(metavar="ACCOUNT", help="The account; all without one.")] = None,
    channel: Channel = None,
    file: Annotated[
        list[int] | None, typer.Option(metavar="NUMBER", help="This file, also one that was removed. May be repeated.")
    ] = None,
    *,
    json: Json = False,
) -> None:
    """Fetch wanted files now; failed and lost ones are tried once more."""
    command_runner.run(_fetch(account, channel, [FileId(one) for one in file or ()], as_json=json))


async def _fetch(name: str | None, named: str | None, files: list[FileId], *, as_json: bool) -> None:
    from tidegate.accounts.queries import accounts
    from tidegate.app.account_commands import ask_account
    from tidegate.channels.queries import channels
    from tidegate.media.policy_requests import readers
    from tidegate.media.queries import media_files, media_rules

    total = {"kept": 0, "bytes": 0, "skipped": 0, "failed": 0, "gone": 0, "paused": None}
    async with command_runner.runtime() as runtime:
        async with runtime.database.transaction() as connection:
            if not (await media_rules.policy(connection)).state.enabled:
                raise BadInput("Media are off, so no file is fetched. Turn them on: tidegate media policy --on")
            account = None if name is None else (await accounts.find(connection, name)).account
            key = None if named is None else (await channels.find(connection, named)).key
            who = None if account is None else account.id
            await media_files.ask_again(connection, account=who, channel=key, files=files)
            asked = [account] if account is not None else await readers(connection, key)
        with _progress(as_json=as_json) as show:
            for one in asked:
                show(f"Fetching files of {one.name} …")
                result = await ask_account(runtime, one, "fetch_media", {})
                for field in ("kept", "bytes", "skipped", "failed", "gone"):
                    total[field] += result[field]
                total["paused"] = total["paused"] or result["paused"]
    if as_json:
        terminal.print_json(total)
        return
    terminal.say(
        f"{total['kept']} files kept ({readable_size(total['bytes'] or 0)}), {total['skipped']} skipped, "
        f"{total['failed']} failed, {total['gone']} gone."
    )
    if total["paused"]:
        raise TidegateError(str(total["paused"]))


@app.command()
def verify(
    *,
    quick: Annotated[bool, typer.Option("--quick", help="Compare sizes only, and read no file.")] = False,
    repair: Annotated[bool, typer.Option("--repair", help="Have lost and damaged files fetched again.")] = False,
    json: Json = False,
) -> None:
    """Check every kept file against its hash, and find bytes without a row."""
    command_runner.run(_verify(quick=quick, repair=repair, as_json=json))


async def _verify(*, quick: bool, repair: bool, as_json: bool) -> None:
    from tidegate.app.policies import media_store
    from tidegate.media import store_maintenance

    async with command_runner.runtime() as runtime:
        store = media_store(runtime.settings)
        with _progress(as_json=as_json) as show:
            report = await store_maintenance.verify(
                runtime.database,
                store,
                repair=repair,
                quick=quick,
                on_checked=lambda files, size: show(f"Checked {files:,} files, {readable_size(size)} …"),
            )
    if as_json:
        terminal.print_json({**asdict(report), "sound": report.is_sound, "store": store.name})
    else:
        terminal.say(
            f"Checked {report.checked:,} files, {readable_size(report.bytes)}: {report.missing} missing, "
            f"{report.damaged} damaged. {report.orphans} entries of the store ({readable_size(report.orphan_bytes)}) "
            "are in no database row."
        )
        for sentence in _advice(report, store.name, repair=repair):
            terminal.say(sentence)
    if not report.is_sound:
        raise typer.Exit(1)


def _advice(report: object, store: str, *, repair: bool) -> list[str]:
    """What to do about what was found."""
    from tidegate.media.store_maintenance import VerifyReport

    assert isinstance(report, VerifyReport)
    said = []
    if report.checked and report.missing == report.checked:
        said.append(f"The store {store} has none of the files. Restore it from its backup, or set media_store.")
    if not report.checked and report.orphans:
        said.append(f"The database knows no file, and the store {store} has some: is it the database of this store?")
    if repair:
        said.append(f"{report.wanted_again} files are wanted again, and are fetched where their messages still exist.")
    elif not report.is_sound:
        said.append("Have them fetched again: tidegate media verify --repair")
    return said


@app.command()
def sweep(*, json: Json = False) -> None:
    """Delete bytes that no message needs, and files left half fetched."""
    command_runner.run(_sweep(as_json=json))


async def _sweep(*, as_json: bool) -> None:
    from tidegate.app.policies import media_setup
    from tidegate.media import store_maintenance

    async with command_runner.runtime() as runtime:
        with _progress(as_json=as_json) as show:
            done = await store_maintenance.sweep(
                runtime.database,
                media_setup(runtime.settings),
                on_swept=lambda files, size: show(f"Deleted {files:,} entries, {readable_size(size)} …"),
            )
    report = asdict(done)
    if as_json:
        terminal.print_json(report)
    else:
        terminal.say(
            f"Deleted {report['orphans']} orphans, {report['unused']} unused entries and {report['partial']} "
            f"half-fetched files: {readable_size(report['bytes'])}."
        )


@app.command()
def remove(
    sha256: Annotated[str, typer.Argument(metavar="SHA256", help="The file's SHA-256, as media list shows it.")],
    *,
    block: Annotated[bool, typer.Option("--block", help="Never keep the same bytes again.")] = False,
    json: Json = False,
) -> None:
    """Delete a kept file; its messages stay."""
    command_runner.run(_remove(sha256, block=block, as_json=json))


async def _remove(written: str, *, block: bool, as_json: bool) -> None:
    from tidegate.app.policies import media_store
    from tidegate.media import store_maintenance

    digest = _digest(written)
    async with command_runner.runtime() as runtime:
        store = media_store(runtime.settings)
        files = await store_maintenance.remove(runtime.database, store, digest, block=block)
    if files is None and not block:
        raise NotThere(f"kept file {written}", "List them: tidegate media list --state kept")
    if as_json:
        terminal.print_json({"sha256": digest.hex(), "files": files or 0, "blocked": block})
    elif files is None:
        raise NothingToDo("No file had these bytes; they are blocked from now on.")
    else:
        terminal.say(f"Removed. {files} files had these bytes." + (" They are never kept again." if block else ""))


def _digest(written: str) -> Sha256:
    try:
        digest = bytes.fromhex(written)
    except ValueError:
        digest = b""
    if len(digest) != 32:
        raise BadInput(f"{written!r} is not a SHA-256: 64 hexadecimal digits, as tidegate media list shows them.")
    return Sha256(digest)
