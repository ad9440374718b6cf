"""Make the database fixture of this code: ``python -m tests.upgrades.build_fixture``. See README.md beside it.

The script uses Tidegate as an operator does: the installed program, the web pages and the API, against the loopback
platforms on 127.0.0.1. It takes some minutes and writes ``releases/STEP.sql.gz`` and ``releases/STEP.json``.
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import io
import json
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import urllib.parse
import urllib.request
import zipfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncpg
import httpx

from tests.cli.program import running, tidegate
from tests.servers import free_port
from tests.upgrades.release import KEY, RELEASES
from tests.waiting import until
from tidegate.accounts.queries.secrets import open_ring
from tidegate.accounts.queries.whatsapp_sessions import WhatsAppSessions
from tidegate.core.clock import SystemClock
from tidegate.database.embedded.pg_programs import wheel_programs
from tidegate.database.embedded.server import ServerLease
from tidegate.database.migrations import HEAD
from tidegate.database.pool import Database

PASSWORD = "a fixture's password"
FORUM, LETTERS, CHRONICLE, MODELS = "Dragon Hoard", "Letters", "Chronicle", "Models"
CLOSED, VAULT, LEFT = "Closed", "Vault", "Left behind"
ADA, BEA, SHOP, MARKET = "+10000000001", "+10000000002", "+6281200000001", "+6281200000002"
MAY_BE_EMPTY = {"chat_pace", "early_deletions"}
"""Tables whose rows last for moments only; every other one must hold something."""

WORLD = {
    "seed": 24,
    "telegram": {
        "accounts": [{"phone": ADA, "name": "Ada"}, {"phone": BEA, "name": "Bea"}],
        "channels": [
            {
                "title": FORUM,
                "kind": "forum",
                "topics": [{"title": "Dragons", "messages": 8, "files": 2}, {"title": "Towers", "messages": 5}],
            },
            {"title": LETTERS, "kind": "channel", "messages": 60},
            {"title": CHRONICLE, "kind": "channel", "messages": 260},
            {"title": MODELS, "kind": "channel", "messages": 10},
            {"title": CLOSED, "kind": "channel", "protected": True},
            {"title": LEFT, "kind": "channel", "messages": 3},
            {"title": VAULT, "kind": "channel"},
        ],
    },
    "discord": {
        "bots": [{"name": "Tidebot"}],
        "guilds": [
            {
                "name": "Harbour",
                "channels": [
                    {"name": "general", "messages": 40},
                    {"name": "ideas", "kind": "forum", "threads": [{"name": "Sails", "messages": 3, "archived": True}]},
                    {"name": "deck", "messages": 4, "threads": [{"name": "Ropes", "messages": 3}]},
                    {"name": "bridge", "messages": 4, "overwrites": [{"deny": ["READ_MESSAGE_HISTORY"]}]},
                ],
            }
        ],
    },
    "whatsapp": {
        "phones": [{"phone": SHOP, "name": "Shop"}, {"phone": MARKET, "name": "Market"}],
        "groups": [
            {"name": "Shops", "count": 6, "members": [SHOP]},
            {"name": "Town news", "announce": True},
            {"name": "Stalls", "count": 2, "members": [MARKET]},
        ],
    },
}

REMINDER = """
name = "{name}"
account = "shop"
{targets}
{more}
timezone = "Asia/Kuala_Lumpur"
delivery_window_start_hour = {start}
delivery_window_end_hour = {end}

[[parts]]
text = "Good morning {{group}}"

[[parts]]
media = "poster.png"
caption = "Prices of {{date}}"
"""


@dataclass
class Operator:
    """Somebody at a terminal, with a data folder and the loopback platforms."""

    home: Path
    control: str
    kept: dict[str, Any] = field(default_factory=dict)

    def do(self, *arguments: str, say: str = "", **settings: str) -> str:
        """Run a command that has to succeed; what it printed."""
        done = tidegate(*arguments, home=self.home, say=say, **SETTINGS, **settings)
        if done.returncode != 0:
            raise RuntimeError(f"tidegate {' '.join(arguments)}: {done.stderr}")
        return done.stdout

    def read(self, *arguments: str) -> Any:
        return json.loads(self.do(*arguments, "--json"))

    def platform(self, call: str, body: dict[str, Any] | None = None) -> Any:
        """Ask or tell the loopback platforms something."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.control + call, data, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def post(self, channel: str, text: str = "", **more: Any) -> list[int]:
        ids: list[int] = self.platform("/telegram/post", {"channel": channel, "text": text, **more})["ids"]
        return ids

    def fault(self, platform: str, kind: str, method: str, **more: Any) -> None:
        self.platform("/faults", {"platform": platform, "kind": kind, "method": method, **more})

    def archives(self) -> dict[str, Any]:
        return {row["name"]: row for row in self.read("archive", "list")}

    @asynccontextmanager
    async def worker(self, name: str, **settings: str) -> AsyncIterator[Callable[[], None]]:
        """A worker for the time of the block; gives what kills it."""
        named = {**SETTINGS, **settings, "TIDEGATE_WORKER_NAME": name}
        async with running("worker", home=self.home, **named) as started:
            yield lambda: started.send_signal(signal.SIGKILL)


RETRY_CAP = 2
SETTINGS = {
    "TIDEGATE_KEY": KEY,
    "TIDEGATE_RETRY_CAP": str(RETRY_CAP),
    "TIDEGATE_CONTEXT_AGENT_MAX_MESSAGES": "100",  # a history that deep is left with its gaps
    "TIDEGATE_WORKER_NAME": "desk",  # of commands that serve an account themselves
    "TIDEGATE_TELEGRAM_READS_PER_SECOND": "50",
    "TIDEGATE_WHATSAPP_READS_PER_SECOND": "5",
}


async def main() -> None:
    """Build the fixture and write it."""
    commit = _commit()
    home = Path(tempfile.mkdtemp(prefix="tg-fixture-"))
    home.chmod(0o711)
    try:
        (home / "world.json").write_text(json.dumps(WORLD))
        async with running("loopback", "--world", str(home / "world.json"), home=home) as platforms:
            control = json.loads(await platforms.stdout.readline())["control"]
            operator = Operator(home, control)
            seat = await asyncio.to_thread(ServerLease, home)  # keeps the server up between commands
            try:
                for chapter in CHAPTERS:
                    print(chapter.__name__)
                    await chapter(operator)
                await write(operator, seat.address.direct, commit)
            finally:
                await asyncio.to_thread(seat.leave)
    finally:
        shutil.rmtree(home)


async def add_accounts(operator: Operator) -> None:
    """One of each platform that works, one that is paused, and one that its platform signed out."""
    await _add_telegram(operator, "ada", ADA)
    await _add_telegram(operator, "bea", BEA)
    token = operator.platform("/discord/token")["token"]
    operator.do("account", "add", "discord", "harbour-bot", "--loopback", operator.control, say=f"{token}\n")
    await _add_whatsapp(operator, "shop", "Shop", "established")
    await _add_whatsapp(operator, "market", "Market", "new")
    for name in ("ada", "bea", "harbour-bot", "shop", "market"):
        operator.do("channel", "sync", name)
    operator.do("account", "pause", "bea")
    operator.platform("/whatsapp/change", {"account": MARKET, "signed_out": True})
    tidegate("channel", "sync", "market", home=operator.home, **SETTINGS)  # finds out, and fails


async def _add_telegram(operator: Operator, name: str, phone: str) -> None:
    code = f"/telegram/code?phone={urllib.parse.quote(phone)}"

    def sent() -> str | None:
        try:
            return str(operator.platform(code)["code"])
        except OSError:
            return None

    command = ("account", "add", "telegram", name, "--loopback", operator.control)
    async with running(*command, home=operator.home, **SETTINGS) as adding:
        adding.write(f"{phone}\n")
        adding.write(f"{await until(sent)}\n")
        _, said = await adding.communicate()
    assert adding.returncode == 0, said.decode()


async def _add_whatsapp(operator: Operator, name: str, phone: str, standing: str) -> None:
    command = ("account", "add", "whatsapp", name, "--loopback", operator.control, "--standing", standing)
    async with running(*command, home=operator.home, **SETTINGS) as adding:
        await until(lambda: any(one["qr"] for one in operator.platform("/whatsapp/pairings")))
        operator.platform("/whatsapp/pair", {"phone": phone})
        _, said = await adding.communicate()
    assert adding.returncode == 0, said.decode()


async def mirror(operator: Operator) -> None:
    """Channels in every state: topics, a full history with a gap, edits, deletions, threads, one that was left."""
    forum = operator.read("channel", "show", FORUM)
    operator.do("channel", "enable", FORUM)
    operator.do("cycle", "ada")
    forum = operator.read("channel", "show", FORUM)
    dragons = next(topic["topic"] for topic in forum["topics"] if topic["title"] == "Dragons")
    operator.do("channel", "enable", FORUM, "--topic", str(dragons))
    operator.do("channel", "enable", LETTERS, "--full")
    operator.do("channel", "enable", CHRONICLE, "--full")
    operator.do("channel", "enable", LEFT)
    operator.do("cycle", "ada")
    operator.do("backfill", CHRONICLE)
    operator.do("cycle", "harbour-bot")

    first, second, third = operator.post(LETTERS, "The lighthouse keeper waves", count=3)
    operator.post(LETTERS, "A reply about the lighthouse", reply_to=first)
    said = operator.platform("/discord/post", {"channel": "general", "text": "An anchor for everybody", "count": 3})
    operator.do("cycle", "ada")
    operator.do("cycle", "harbour-bot")
    operator.platform("/telegram/edit", {"channel": LETTERS, "id": second, "text": "The lighthouse keeper sleeps"})
    operator.platform("/telegram/delete", {"channel": LETTERS, "ids": [third]})
    general = said["ids"]
    operator.platform("/discord/edit", {"channel": "general", "id": general[0], "text": "An anchor for nobody"})
    operator.platform("/discord/delete", {"channel": "general", "ids": [general[1]]})
    thread = {"name": "Knots", "text": "How to tie one", "message": general[2]}
    operator.platform("/discord/change", {"channel": "general", "new_thread": thread})
    operator.platform("/telegram/change", {"channel": LEFT, "left": ADA})
    operator.do("cycle", "ada")
    operator.do("cycle", "harbour-bot")
    operator.do("reconcile", LETTERS)
    operator.do("reconcile", "general")


async def gather_archives(operator: Operator) -> None:
    """Archives that were copied, uploaded, told to be duplicates, are collected, failed, and were given up."""
    operator.do("channel", "enable", MODELS, "--hash")
    operator.do("channel", "enable", CLOSED, "--destination", VAULT)
    operator.post(MODELS, "Bridge, files below", files=[{"name": "bridge.png", "picture": True}])
    bridge = {"bridge/arch.stl": b"arch", "bridge/plan für alle.pdf": b"plan"}
    operator.post(MODELS, files=[_zip("bridge.zip", bridge)])
    operator.post(MODELS, files=[_zip("bridge-again.zip", bridge)])
    operator.post(CLOSED, files=[_zip("harbour.zip", {"harbour/crane.stl": b"crane"})])
    operator.post(MODELS, files=[{"name": "castle.7z.001", "size": 4000}])
    operator.do("cycle", "ada")

    operator.post(MODELS, files=[_zip("wreck.zip", {"wreck/mast.stl": b"mast"})])
    for _ in range(RETRY_CAP):
        operator.fault("telegram", "error", "upload.getFile", code="400 LOCATION_INVALID")
        operator.do("cycle", "ada")


async def stop_halfway(operator: Operator) -> None:
    """A last cycle after which something is left to do: an archive to try again, and a gap that no difference tells."""
    operator.platform("/telegram/change", {"channel": VAULT, "writers": [BEA]})
    operator.post(CLOSED, files=[_zip("late.zip", {"late/bell.stl": b"bell"})])
    operator.post(CHRONICLE, "Fog", count=250)
    operator.platform("/telegram/change", {"channel": CHRONICLE, "oldest_pts": "now"})
    operator.do("cycle", "ada")
    assert operator.read("channel", "show", CHRONICLE)["gaps"]["messages"]
    assert operator.archives()["late.zip"]["state"] == "failed"


def _zip(name: str, inside: dict[str, bytes]) -> dict[str, str]:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path, content in inside.items():
            archive.writestr(zipfile.ZipInfo(path), content)
    return {"name": name, "base64": base64.b64encode(packed.getvalue()).decode()}


async def remind(operator: Operator) -> None:
    """Reminders with a list, with files and with a schedule; runs that ended in every way, and some that did not."""
    pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    (operator.home / "poster.png").write_bytes(base64.b64decode(pixel))
    groups = [row["title"] for row in operator.read("channel", "list", "--account", "shop")]
    shops = sorted(title for title in groups if title.startswith("Shops"))
    operator.do(
        "reminder", "targets", "some shops", "--account", "shop", "--group", shops[0], "--group", shops[1],
    )  # fmt: skip
    listed, named = 'list = "some shops"', f"targets = {json.dumps(shops[:3])}"
    _write_reminder(operator, "By list", listed)
    _write_reminder(operator, "Partial", f"targets = {json.dumps(shops[3:])}")
    _write_reminder(operator, "Unknown", named)
    _write_reminder(operator, "Weekly", "all = true", 'schedule = { cron = "0 9 * * FRI" }', hours=(6, 18))
    hour = (SystemClock().now().hour + 8) % 24  # of the reminders' time zone
    later = (hour + 2, hour + 3) if hour < 21 else (0, 1)
    _write_reminder(operator, "Later", named, 'when_fired_late = "resume_next"', hours=later)
    operator.do("reminder", "test", "By list", "--target", shops[0])

    async with operator.worker(
        "anna", TIDEGATE_MAX_SEND_PER_MINUTE="600", TIDEGATE_WHATSAPP_ESTABLISHED_SENDS_PER_MINUTE="600"
    ):
        success = operator.read("reminder", "fire", "By list")["id"]
        await _state(operator, success, "ended")
        operator.platform("/whatsapp/change", {"channel": shops[-1], "left": SHOP})
        partial = operator.read("reminder", "fire", "Partial")["id"]
        await _state(operator, partial, "ended")
        operator.fault("whatsapp", "drop_after_accept", "SendMessage")
        unknown = operator.read("reminder", "fire", "Unknown")["id"]
        await _state(operator, unknown, "needs_attention")
    paused = operator.read("reminder", "fire", "By list")["id"]
    operator.do("runs", "pause", str(paused))
    waiting = operator.read("reminder", "fire", "Later")["id"]
    cancelled = operator.read("reminder", "fire", "Partial")["id"]
    operator.do("runs", "cancel", str(cancelled))
    operator.kept["runs"] = {
        "success": success, "partial": partial, "unknown": unknown, "paused": paused, "waiting": waiting,
        "cancelled": cancelled,
    }  # fmt: skip


def _write_reminder(
    operator: Operator, name: str, targets: str, more: str = "", *, hours: tuple[int, int] = (0, 24)
) -> None:
    file = operator.home / "reminder.toml"
    file.write_text(REMINDER.format(name=name, targets=targets, more=more, start=hours[0], end=hours[1]))
    operator.do("reminder", "add", file.name)


async def _state(operator: Operator, run: int, state: str) -> None:
    await until(lambda: operator.read("runs", "show", str(run))["state"] == state)


async def serve_pages(operator: Operator) -> None:
    """A password, a session, a link that is not used, a try that failed; tokens of each scope, one of them revoked."""
    for name, *options in (
        ("reader", "--scope", "read"),
        ("steersman", "--scope", "steer"),
        ("master", "--scope", "admin", "--scope", "read", "--scope", "steer"),
        ("letters-bot", "--channel", LETTERS),
        ("gone", "--scope", "read"),
    ):
        operator.kept.setdefault("tokens", {})[name] = operator.do("token", "add", name, *options).strip()
    operator.do("token", "revoke", "gone")
    port = free_port()
    at = f"http://127.0.0.1:{port}"
    async with running("web", home=operator.home, TIDEGATE_WEB_PORT=str(port), **SETTINGS) as pages:
        await pages.stderr.readline()  # it listens
        link = operator.do("web", "--sign-in-link").strip()
        async with httpx.AsyncClient(base_url=at, headers={"origin": at}, timeout=60) as browser:
            once = urllib.parse.parse_qs(urllib.parse.urlsplit(link).query)["once"][0]
            entered = await browser.post("/sign-in/once", data={"once": once, "password": PASSWORD})
            assert entered.status_code == httpx.codes.SEE_OTHER, entered.text
            operator.kept["session"] = next(iter(browser.cookies.values()))
        async with httpx.AsyncClient(base_url=at, headers={"origin": at}, timeout=60) as stranger:
            assert (
                await stranger.post("/sign-in", data={"password": "a wrong one"})
            ).status_code == httpx.codes.FORBIDDEN
            bearer = {"authorization": f"Bearer {operator.kept['tokens']['reader']}"}
            assert (await stranger.get("/api/accounts", headers=bearer)).status_code == httpx.codes.OK
    operator.do("web", "--sign-in-link")


async def make_whatsapp_corner(operator: Operator) -> None:
    """The schema and the role that WhatsApp's library gets; an account of a loopback platform has no need of them."""
    seat = await asyncio.to_thread(ServerLease, operator.home)
    database = await Database.open(seat.address)
    ring = await open_ring(database, operator.home, KEY)

    async def given() -> Any:
        return ring

    await WhatsAppSessions(database, given).address()
    await database.close()
    await asyncio.to_thread(seat.leave)


async def work(operator: Operator) -> None:
    """Two workers: one is killed, the other obeys commands and leaves."""
    async with operator.worker("ben") as kill:
        await _served(operator, "ben")
        kill()
    async with operator.worker("cleo"):
        await _served(operator, "cleo")
        operator.do("account", "pause", "harbour-bot")
        operator.do("account", "resume", "harbour-bot")
        operator.do("cycle", "ada")


async def wait_for_discord(operator: Operator) -> None:
    """The platform asks for a wait of a day, and the command that met it is ended."""
    operator.fault("discord", "wait", "GET /channels/{channel.id}/messages", seconds=86_400)
    async with running("reconcile", "general", home=operator.home, **SETTINGS):
        await until(lambda: "lane.paused" in operator.do("feed", "--json"))


async def _served(operator: Operator, name: str) -> None:
    await until(lambda: operator.read("account", "show", "ada")["served_by"] == name)


async def write(operator: Operator, dsn: str, commit: str) -> None:
    """Put the database and what tests need to know of it into two files."""
    counts = await _tidy(dsn)
    empty = {table for table, count in counts.items() if count == 0}
    if empty - MAY_BE_EMPTY:
        raise RuntimeError(f"These tables hold nothing: {', '.join(sorted(empty))}.")
    sql = _dump(dsn)
    private = "|".join(re.escape(str(one)) for one in (operator.home, Path.home(), Path.cwd(), socket.gethostname()))
    if found := re.search(rf".{{,40}}(?<!\w)({private})(?!\w).{{,40}}", sql):
        raise RuntimeError(f"The dump tells of this machine: {found[0]}")
    made_at = SystemClock().now().replace(microsecond=0).isoformat()
    about = {
        "schema": HEAD,
        "commit": commit,
        "made_at": made_at,
        "password": PASSWORD,
        **operator.kept,
        "rows": counts,
    }
    RELEASES.mkdir(exist_ok=True)
    (RELEASES / f"{HEAD}.sql.gz").write_bytes(gzip.compress(sql.encode(), mtime=0))
    (RELEASES / f"{HEAD}.json").write_text(json.dumps(about, indent=2) + "\n")
    print(f"{HEAD}: {len(sql):,} bytes of SQL, {(RELEASES / f'{HEAD}.sql.gz').stat().st_size:,} packed")


CHAPTERS = (
    add_accounts, mirror, remind, serve_pages, make_whatsapp_corner, work, gather_archives, stop_halfway,
    wait_for_discord,
)  # fmt: skip
"""What is done, in this order: workers would read a gap and try failures again."""


def _commit() -> str:
    """The commit whose product is used; that of this script may be another one."""

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments, "--", "src"], check=True, capture_output=True, text=True)
        return done.stdout.strip()

    if changed := git("status", "--porcelain"):
        raise RuntimeError(f"No commit has this product: {changed}")
    return git("log", "-1", "--format=%H")


async def _tidy(dsn: str) -> dict[str, int]:
    """Take out what belongs to this machine and this server; how many rows each table has."""
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute("UPDATE workers SET host = 'a host', process = 'a process', sessions = 'sessions'")
        # Transaction numbers of this server would lie in the future of a new one, which then shows no event.
        await connection.execute(
            """
            UPDATE events SET tx = earlier.tx::text::xid8
            FROM (SELECT tx, id, ntile(500) OVER (ORDER BY tx, id) AS earlier_tx FROM events) AS earlier (old, id, tx)
            WHERE events.tx = earlier.old AND events.id = earlier.id
            """
        )
        names = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1")
        return {name: await connection.fetchval(f'SELECT count(*) FROM "{name}"') for (name,) in names}
    finally:
        await connection.close()


def _dump(dsn: str) -> str:
    """The database as statements that every PostgreSQL from 14 on takes, sent by any client."""
    command = [
        str(wheel_programs() / "pg_dump"), "--no-owner", "--no-privileges", "--no-comments", "--inserts",
        "--rows-per-insert=50", "--dbname", dsn,
    ]  # fmt: skip
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    # psql's own commands, a setting that came with PostgreSQL 17, and marks that some servers give to columns.
    return re.sub(r"(?m)^(\\(un)?restrict .*|SET transaction_timeout .*|.* SET \(pg_attver=\d+\);)\n", "", said)


if __name__ == "__main__":
    asyncio.run(main())
