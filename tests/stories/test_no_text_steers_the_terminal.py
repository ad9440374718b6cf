"""Story: strangers name channels, files and themselves to attack the operator's terminal; no command lets them."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import socket
import zipfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

from tests.cli.program import at_terminal, each_in_turn, running, tidegate
from tests.hostile_text import ATTACK, OWN_CODES, QUIET_ATTACK, dangers_in
from tests.servers import free_port, make_home
from tests.waiting import PATIENCE, until
from tidegate.app.account_setup import join, new_account
from tidegate.app.composition import Runtime
from tidegate.app.settings import Settings
from tidegate.cli import app
from tidegate.core.account import Standing
from tidegate.core.clock import SystemClock
from tidegate.core.platform import platform_named
from tidegate.demo.telegram_account import Operator
from tidegate.loopback.control_server import serving
from tidegate.loopback.counting_world import World
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.loopback.platform_set import Platforms
from tidegate.loopback.world_document import WorldSpec, make_worlds

PHONE = "+10000000001"
TELEGRAM, DISCORD, WHATSAPP = (f"{platform}-{QUIET_ATTACK}" for platform in ("telegram", "discord", "whatsapp"))
FORUM, NEWS, TOPIC, GUILD, ROOM, THREAD, GROUP = (
    f"{what} {ATTACK}" for what in ("forum", "news", "topic", "guild", "room", "thread", "group")
)
PICTURE = f"{ATTACK}.png"
REMINDER, LIST = f"Reminder {QUIET_ATTACK}", "all groups"
WORLD: dict[str, Any] = {
    "seed": 5,
    "telegram": {
        "accounts": [{"phone": PHONE, "name": f"Ada {ATTACK}"}],
        "channels": [
            {"title": FORUM, "kind": "forum", "topics": [{"title": TOPIC}]},
            {"title": NEWS, "kind": "channel"},
        ],
    },
    "discord": {
        "bots": [{"name": f"Bot {ATTACK}"}],
        "guilds": [{"name": GUILD, "channels": [{"name": ROOM, "threads": [{"name": THREAD, "messages": 1}]}]}],
    },
    "whatsapp": {"phones": [{"phone": "+6281200000001", "name": f"Shop {ATTACK}"}], "groups": [{"name": GROUP}]},
}
WRITTEN = {
    "name": REMINDER,
    "account": WHATSAPP,
    "targets": [GROUP],
    "delivery_window_start_hour": 0,
    "delivery_window_end_hour": 24,
    "parts": [{"text": f"Good morning {{group}} {ATTACK}"}, {"media": PICTURE, "caption": ATTACK}],
}

NO_DATA = {
    "serve": "ends when it is told to; its output has a test of its own",
    "worker": "the same",
    "web": "the same",
    "completion": "prints a script of its own",
    "loopback": "prints addresses that it made itself",
    "demo": "shows its own world, in which nobody else writes",
}
SAYS_NOTHING_OF_IT = {
    "db mark-restored", "db move", "db url", "db upgrade", "db rekey", "media sweep", "media verify", "runs pause",
    "runs resume", "runs cancel",
}  # fmt: skip
"""Commands that have nothing to say of a name or a text."""
TAKE_ANY_TEXTS = {"backfill", "reconcile", "search"}
"""Commands that take any number of texts: what they refuse is not the line but what it names."""


def commands(home: Path, control: str) -> dict[str, list[list[str]]]:
    """Every command that prints data, with arguments that make it do so; in an order that leaves data for the next."""
    return {
        "account list": [[]],
        "account show": [[TELEGRAM], [ATTACK]],
        "account add": [
            ["telegram", TELEGRAM, "--loopback", control],
            ["whatsapp", "x", "--loopback", f"http://{ATTACK}"],
        ],
        "account sign-in": [[DISCORD]],
        "account set": [
            [TELEGRAM, "--standing", "normal"],
            [TELEGRAM, "--rename", ATTACK],
            [TELEGRAM, "--proxy", f"http://{ATTACK}"],
            [ATTACK, "--standing", "normal"],
        ],
        "account pause": [[DISCORD]],
        "account resume": [[DISCORD]],
        "channel sync": [[TELEGRAM], [DISCORD]],
        "channel list": [[], ["--account", WHATSAPP]],
        "channel show": [[FORUM], [ROOM], [ATTACK]],
        "channel enable": [[FORUM, "--full"]],
        "plan": [[], [TELEGRAM]],
        "cycle": [[TELEGRAM]],
        "backfill": [[FORUM], []],
        "reconcile": [[FORUM]],
        "channel disable": [[NEWS]],
        "archive list": [[], ["--channel", FORUM], ["--state", ATTACK]],
        "archive show": [["1"], ["2"]],
        "archive preview": [[number, str(home / ATTACK)] for number in ("1", "2")],
        "archive retry": [["1"], ["--all", "--reason", ATTACK]],
        "media list": [[], ["--channel", FORUM], ["--channel", ATTACK]],
        "media policy": [[], ["--channel", ATTACK, "--action", "keep"]],
        "media fetch": [[TELEGRAM], [ATTACK]],
        "media verify": [[]],
        "media sweep": [[]],
        "media remove": [[ATTACK]],
        "search": [["evil"], [ATTACK, "nowhere"], ["evil", "--channel", FORUM]],
        "context": [[FORUM], [ROOM], [THREAD], [ATTACK]],
        "reminder add": [[str(home / "reminder.json")], [ATTACK]],
        "reminder edit": [[REMINDER, str(home / "reminder.json")], [REMINDER, ATTACK]],
        "reminder list": [[]],
        "reminder show": [[REMINDER]],
        "reminder estimate": [[REMINDER]],
        "reminder targets": [[], [LIST]],
        "reminder fire": [[REMINDER, "--dry-run"], [REMINDER]],
        "reminder test": [[REMINDER, "--target", ATTACK]],
        "runs list": [[]],
        "runs show": [["1"]],
        "runs pause": [["1"]],
        "runs resume": [["1"]],
        "runs cancel": [["1"]],
        "runs resolve": [["1", "--as", ATTACK]],
        "runs remainder": [["1", "--account", WHATSAPP], ["1", "--account", ATTACK]],
        "reminder disable": [[ATTACK], [REMINDER]],
        "reminder enable": [[ATTACK], [REMINDER]],
        "reminder remove": [[ATTACK], [REMINDER]],
        "token add": [[ATTACK]],
        "token list": [[]],
        "token confirm": [[ATTACK]],
        "token revoke": [[ATTACK]],
        "settings": [[]],
        "doctor": [[], ["--live", TELEGRAM], ["--live", ATTACK]],
        "feed": [[]],
        "calls": [[]],
        "db url": [[]],
        "db upgrade": [[]],
        "db backup": [[str(home / ATTACK / "x")]],
        "db restore": [[str(home / ATTACK)]],
        "db mark-restored": [[]],
        "db move": [[f"postgresql://{ATTACK}@/x"]],
        "db rekey": [[]],
        "account remove": [[ATTACK, "--yes"], [TELEGRAM, "--yes"]],
        "status": [[]],  # now nobody can read the forum
    }


@cache
def all_commands() -> dict[str, Any]:
    """Every command of the program by what is typed for it."""
    found: dict[str, Any] = {}

    def collect(command: Any, typed: list[str]) -> None:
        for name, below in getattr(command, "commands", {}).items():
            collect(below, [*typed, name])
        if not hasattr(command, "commands"):
            found[" ".join(typed)] = command

    collect(typer.main.get_command(app), [])
    return found


def speaks_json(command: Any) -> bool:
    return any("--json" in parameter.opts for parameter in command.params)


@dataclass(frozen=True, slots=True)
class Scene:
    """An operator's folder and database, and the loopback platforms that hold what strangers wrote."""

    home: Path
    control: str
    platforms: Platforms
    variables: dict[str, str]


@pytest.fixture
async def scene(world: World, test_folder: Path) -> AsyncIterator[Scene]:
    """Everything that strangers and platforms can name is an attack; an account is signed in on each platform."""
    clock = SystemClock()
    platforms = Platforms.of(make_worlds(WorldSpec.model_validate(WORLD), clock), clock)
    home = make_home(test_folder / f"terminal-{os.getpid()}")
    runtime = Runtime(Settings(home=home), world.database)
    async with serving(platforms, world.platform, world.at) as control:
        for name, platform in (
            (TELEGRAM, platform_named("telegram")),
            (DISCORD, platform_named("discord")),
            (WHATSAPP, platform_named("whatsapp")),
        ):
            plain = platform.name
            await join(runtime, new_account(plain, platform, Standing.NORMAL, control), Operator(platforms, PHONE))
            # Today such a name is refused; earlier releases took it.
            await world.database.pool.execute("UPDATE accounts SET name = $1 WHERE name = $2", name, plain)
        _write_what_strangers_write(platforms)
        (home / "reminder.json").write_text(json.dumps(WRITTEN))
        (home / PICTURE).write_bytes(b"\x89PNG and so on")
        yield Scene(home, control, platforms, {"DATABASE_URL": world.address.url})


def _write_what_strangers_write(platforms: Platforms) -> None:
    telegram, discord = platforms.telegram.world, platforms.discord.world
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr(f"castle/{ATTACK}.stl", b"solid")
    forum, news = telegram.channel(FORUM), telegram.channel(NEWS)
    telegram.post(news, ATTACK, file=telegram.add_photo(PICTURE))
    for channel in (forum, news):
        file = telegram.add_content(f"{ATTACK}.zip", held.getvalue(), mime="application/zip")
        telegram.post(channel, f"a text {ATTACK}\nof two lines", file=file)
    telegram.faults.add(Fault(FaultKind.ERROR, "upload.getFile", code=f"400 EVIL_{ATTACK}"))
    room = discord.channel(ROOM)
    discord.post(room, f"a text {ATTACK}", author=discord.person(f"Eve {ATTACK}").id)


async def prepared(scene: Scene) -> None:
    """Channels are known, two are mirrored, and their archives were looked into."""
    for arguments in (
        ("channel", "sync", TELEGRAM), ("channel", "sync", DISCORD), ("channel", "sync", WHATSAPP),
        ("channel", "enable", FORUM, "--full"), ("channel", "enable", NEWS), ("channel", "enable", ROOM, "--full"),
        ("cycle", TELEGRAM), ("cycle", TELEGRAM), ("cycle", DISCORD),
        ("reminder", "targets", LIST, "--account", WHATSAPP, "--group", GROUP),
    ):  # fmt: skip
        done = await asyncio.to_thread(tidegate, *arguments, home=scene.home, **scene.variables)
        assert done.returncode == 0, (arguments, done.stderr)


def shown_by(scene: Scene, typed: str, arguments: list[str], *, as_json: bool) -> dict[str, str]:
    """What a command shows, in a pipe and at a terminal; JSON only in a pipe, as one function prints it for both."""
    whole = [*typed.split(), *arguments, *(["--json"] if as_json else [])]
    variables = {**scene.variables, **({f"TIDEGATE_{ATTACK}": "1"} if typed == "settings" else {})}
    piped = tidegate(*whole, home=scene.home, **variables)
    if as_json and piped.returncode == 0:
        for document in piped.stdout.splitlines() if typed == "feed" else [piped.stdout]:
            json.loads(document)
    if as_json and typed != "feed":
        return {"pipe": piped.stdout + piped.stderr}
    terminal = at_terminal(*whole, home=scene.home, **variables)
    for told in (piped.stdout + piped.stderr, terminal.stdout):
        assert "did not expect" not in told, (whole, told)
    return {"pipe": piped.stdout + piped.stderr, "terminal": OWN_CODES.sub("", terminal.stdout)}


async def test_no_command_lets_a_text_steer_the_terminal(scene: Scene) -> None:
    """Each command, for people in a pipe and at a terminal, and as JSON: attacks are shown, and none of them works."""
    await prepared(scene)
    breaches: list[str] = []
    for typed, calls in commands(scene.home, scene.control).items():
        told = ""
        for arguments in calls:
            for as_json in (False, True) if speaks_json(all_commands()[typed]) else (False,):
                shown = await asyncio.to_thread(shown_by, scene, typed, arguments, as_json=as_json)
                told += "".join(shown.values())
                breaches += [
                    f"{typed} {arguments[:1]}{' --json' if as_json else ''} in a {where}: {sorted(set(dangers))}"
                    for where, text in shown.items()
                    if (dangers := dangers_in(text))
                ]
        if ("[red]" in told) is (typed in SAYS_NOTHING_OF_IT):
            breaches.append(f"{typed}: an attack is {'' if '[red]' in told else 'not '}shown")
    assert not breaches, "\n".join(breaches)


def test_every_command_is_tried() -> None:
    """A new command has to be tried above, or to say why it prints nothing from outside."""
    assert {*commands(Path(), "")} | {*NO_DATA} == {*all_commands()}
    assert {*commands(Path(), "")} & {*NO_DATA} == set()


@pytest.mark.parametrize("terminal", [False, True], ids=["pipe", "terminal"])
def test_no_refusal_lets_an_argument_steer_the_terminal(terminal: bool, test_folder: Path) -> None:
    """What the command line itself says of a wrong argument or option, for every command."""
    home = make_home(test_folder / f"refusals-{os.getpid()}-{terminal}")
    lines = [[*typed.split(), *[wrong] * 4] for typed in ("", *all_commands()) for wrong in (f"--{ATTACK}", ATTACK)]
    shown = each_in_turn(lines, home=home, terminal=terminal)
    told = list(zip(lines, shown, strict=True))
    assert {line[0] for line, text in told if "Usage:" not in text} == TAKE_ANY_TEXTS
    assert [(line, dangers) for line, text in told if (dangers := dangers_in(text))] == []


@pytest.mark.parametrize("form", ["people", "json"])
@pytest.mark.parametrize("command", ["serve", "worker", "web"])
async def test_no_log_line_of_a_server_steers_the_terminal(scene: Scene, command: str, form: str) -> None:
    """What a worker meets on its platforms, and what strangers ask of the pages, is logged without its effect."""
    scene.platforms.whatsapp.world.faults.add(Fault(FaultKind.SIGNED_OUT, "connect"))
    port, said = free_port(), b""
    variables = {"TIDEGATE_LOG_FORMAT": form, "TIDEGATE_LOG_LEVEL": "debug", "TIDEGATE_WEB_PORT": str(port)}
    async with running(command, home=scene.home, **scene.variables, **variables) as started:
        if command == "web":
            await until(lambda: _answers(port))
        else:
            said = await _until_named(started.stderr)
        started.send_signal(signal.SIGTERM)
        said += b"".join(await started.communicate())
    assert dangers_in(said.decode()) == []


async def _until_named(stream: asyncio.StreamReader) -> bytes:
    """What is logged, up to the line that names the account that was signed out."""
    said = b""
    async with asyncio.timeout(PATIENCE):
        while b"account.needs_a_person" not in said:
            said += await stream.readuntil(b"\n")
    return said


def _answers(port: int) -> bool:
    """Whether the pages answer, at an address that a stranger made up."""
    request = f"GET /{ATTACK} HTTP/1.1\r\nHost: {ATTACK}\r\n\r\n".encode("utf-8", "replace")
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=10) as line:
            line.sendall(request)
            return line.recv(12).startswith(b"HTTP/1.1")
    except OSError:
        return False
