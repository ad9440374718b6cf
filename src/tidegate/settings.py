"""Everything an operator can set, as one typed object; ``sources`` finds the values.

Settings are read in ``app`` and above and come down as arguments.
"""

from __future__ import annotations

import os
import re
import socket
from datetime import timedelta
from pathlib import Path
from typing import Annotated

from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from tidegate.setting_kinds import (
    Alias,
    Allowed,
    ApiId,
    Budget,
    Cap,
    Count,
    Growth,
    Home,
    Host,
    KeptForCaps,
    LogFormat,
    LogLevel,
    Port,
    PublicHosts,
    PublicUrl,
    Rate,
    Room,
    SafetyNet,
    Secret,
    Size,
    Span,
    Switch,
    TimeOut,
    WorkerName,
    setting,
)
from tidegate.words import Platform, Standing


def _default_home() -> Path:
    if os.geteuid() == 0:
        return Path("/var/lib/tidegate")
    data = os.environ.get("XDG_DATA_HOME", "")
    # The XDG rule: a relative path there is invalid and ignored.
    return (Path(data) if data.startswith("/") else Path.home() / ".local" / "share") / "tidegate"


def _default_worker_name() -> str:
    host = re.sub(r"[^A-Za-z0-9._-]", "-", socket.gethostname()).lstrip("._-")[:40]
    return f"{host or 'worker'}-{os.getpid()}"


class Settings(BaseSettings):
    """What the operator set, checked; ``Settings()`` holds the defaults alone and looks nowhere."""

    model_config = SettingsConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings,)  # ``sources.load`` finds the values, because it also has to say where each came from

    home: Home = setting(
        _default_home, "The data folder: embedded database, key file, and tidegate.toml if it lies there."
    )
    database_url: Secret = setting(
        None,
        "The PostgreSQL server to use (14 or newer); without it Tidegate runs its own inside the data folder.",
        "DATABASE_URL",
    )
    database_direct_url: Secret = setting(
        None,
        "The same database without a pooler between, for locks and LISTEN; without it database_url serves both.",
        "DATABASE_DIRECT_URL",
    )
    database_connections: Count = setting(
        10, "The most database connections one process keeps for work; a worker's lock and its listening add a few."
    )
    key: Secret = setting(
        None,
        "The key ring that encrypts sign-ins, one ID:BASE64 a line; without it the data folder's secret.key.",
    )

    worker_name: WorkerName = setting(
        _default_worker_name,
        "What this worker is called in account list, logs and PostgreSQL; one of its own for each process.",
    )
    seats: Count = setting(1_000, "The most accounts one worker serves.")
    time_out: TimeOut = setting(
        timedelta(seconds=15), "How long a worker may be silent before its accounts are served elsewhere."
    )
    telegram_silent_takeover_for: Span = setting(
        timedelta(minutes=10),
        "How long a silent worker keeps its Telegram accounts, since two addresses on one key can end a sign-in; "
        "never less than time_out, and a dead worker loses them at once.",
    )

    web_host: Host = setting("127.0.0.1", "The address the web floor listens on.")
    web_port: Port = setting(8742, "The port the web floor listens on.")
    web_url: PublicUrl = setting(
        None, "The address at which people reach the pages when a proxy stands before them; its path is the prefix."
    )
    web_hosts: PublicHosts = setting(
        None, "Further host names that requests may give, beside that of web_url and those of this machine itself."
    )
    web_waits_for: Span = setting(
        timedelta(seconds=30), "How long a page or an answer of the API waits for the database before it says so."
    )
    web_session_for: Span = setting(
        timedelta(days=30), "How long a browser stays signed in to the pages after it was last used."
    )
    worker_port: Annotated[Port | None, Allowed("a port from 1 to 65535, or left out for none")] = setting(
        None, "The port on which a worker alone answers /health and /metrics; left out, it listens nowhere."
    )
    log_level: Annotated[LogLevel, Allowed("debug, info, warning or error")] = setting(
        LogLevel.INFO, "The least important log lines that are written."
    )
    log_format: Annotated[LogFormat, Allowed("auto, people or json")] = setting(
        LogFormat.AUTO, "How log lines look; auto is for people on a terminal and JSON elsewhere."
    )

    keep_calls_for: KeptForCaps = setting(timedelta(days=90), "How long the ledger of platform calls is kept.")
    keep_events_for: Span = setting(timedelta(days=30), "How long the feed's events are kept.")
    keep_commands_for: Span = setting(timedelta(days=7), "How long commands that ended are kept.")
    keep_runs_for: Span = setting(timedelta(days=90), "How long runs of reminders are kept after they ended.")

    max_send_per_minute: Count = setting(
        40,
        "The most message parts one account sends a minute, whatever its platform and standing.",
        "BOT_MAX_SEND_PER_MINUTE",
    )
    send_burst: Count = setting(
        1,
        "How many parts an account may send at once after a rest; a minute then holds burst - 1 more.",
    )
    telegram_chat_sends_per_minute: Count = setting(
        20,
        "The most messages an account sends a minute into one Telegram channel or group, filed archives among them.",
    )
    sends_per_hour: Cap = setting(
        None, "The most parts an account sends in any 60 minutes; left out, there is no such cap."
    )
    sends_per_day: Cap = setting(
        None, "The most parts an account sends in any 24 hours; left out, there is no such cap."
    )
    whatsapp_new_sends_per_minute: Count = setting(4, "The pace of a WhatsApp account whose standing is new.")
    whatsapp_normal_sends_per_minute: Count = setting(12, "The pace of a WhatsApp account whose standing is normal.")
    whatsapp_established_sends_per_minute: Count = setting(
        40, "The pace of a WhatsApp account whose standing is established."
    )
    warm_up: Switch = setting(
        True,  # noqa: FBT003 - a default, read beside its name
        "Whether a WhatsApp account of standing new starts with few sends a day and more each day.",
    )
    warm_up_first_day: Count = setting(20, "The most parts a warming-up account sends on its first day.")
    warm_up_growth: Growth = setting(1.8, "How many times the day before's allowance each further warm-up day brings.")
    warm_up_days: Count = setting(7, "How many days a warm-up lasts.")
    warm_up_again_after: Span = setting(
        timedelta(hours=72), "How long an account must send nothing for its warm-up to begin anew."
    )

    telegram_reads_per_second: Rate = setting(1.0, "The most read calls a second of a Telegram account.")
    telegram_reads_at_once: Count = setting(2, "The most read calls of a Telegram account in flight at once.")
    discord_reads_per_second: Rate = setting(25.0, "The most read calls a second of a Discord account.")
    discord_reads_at_once: Count = setting(10, "The most read calls of a Discord account in flight at once.")
    whatsapp_reads_per_second: Rate = setting(0.03, "The most read calls a second of a WhatsApp account.")
    whatsapp_reads_at_once: Count = setting(1, "The most read calls of a WhatsApp account in flight at once.")

    telegram_api_id: ApiId = setting(None, "Your application's api_id at Telegram, from my.telegram.org.")
    telegram_api_hash: Secret = setting(None, "Your application's api_hash at Telegram, from my.telegram.org.")
    discord_live: Switch = setting(
        True,  # noqa: FBT003 - a default, read beside its name
        "Whether Discord accounts listen for what changes; off, every cycle asks instead, two calls a server.",
    )
    cycle_every: Span = setting(timedelta(minutes=60), "How often an account's channels are gone over, plus jitter.")
    cycle_every_live: SafetyNet = setting(
        timedelta(hours=4),
        "How often they are gone over while the platform itself tells what happens, as a safety net; plus jitter.",
    )
    pages_a_turn: Count = setting(
        50, "The most calls that reading one channel or topic makes in a cycle; the next cycle goes on from there."
    )
    fresh_for: Span = setting(
        timedelta(minutes=5),
        "How long after a scan that found nothing a channel or topic is not scanned again.",
        Alias("WORKER_SKIP_RECENT_SCAN_WINDOW_MS", timedelta(milliseconds=1), "a number of milliseconds above 0"),
    )
    cold_after_empty_scans: Count = setting(
        5, "After how many empty scans in a row a channel or topic is cold.", "WORKER_EMPTY_SCAN_BACKOFF_THRESHOLD"
    )
    cold_every_nth_cycle: Count = setting(
        5, "A cold channel or topic has its turn every so many cycles.", "WORKER_EMPTY_SCAN_BACKOFF_EVERY_NTH"
    )
    preview_calls_per_cycle: Budget = setting(
        50, "The most calls spent after a cycle on preview pictures of archives; 0 looks for none."
    )
    retry_cap: Count = setting(5, "How often a failed archive is tried before it waits for a person.")
    archive_size_limit: Size = setting(
        None, "The largest archive that is worked on; larger ones fail, and are tried again once the limit is raised."
    )
    disk_reserve: Room = setting(
        1 << 30,
        "How much of the disk is left to others; an archive whose parts would need it fails until there is room.",
    )
    archive_quiet_for: Span = setting(
        timedelta(hours=1), "How long no part may come for a set to be whole whose end neither name nor size tells."
    )
    archive_collect_for: Span = setting(
        timedelta(days=1), "How long a set waits for a missing part before it is shown as incomplete."
    )
    discord_cycle_every: Span = setting(
        timedelta(minutes=15), "How often a Discord account's guilds are gone over while nothing is told live."
    )
    discord_cycle_every_live: Span = setting(
        timedelta(minutes=60), "How often they are gone over while Discord itself tells what happens."
    )
    backfill_concurrency: Count = setting(
        2, "How many channels of one account are backfilled at once.", "BACKFILL_CONCURRENCY"
    )
    backfill_max_iterations: Count = setting(
        10,
        "How many rounds deeper one turn of a channel's backfill goes; the rest queues again.",
        "BACKFILL_MAX_ITERATIONS",
    )
    backfill_parallel_batches: Count = setting(
        3, "Into how many slices of time the backfill of one huge channel is cut.", "BACKFILL_PARALLEL_BATCHES"
    )
    backfill_max_fetch_limit: Count = setting(
        1_000,
        "The most messages one turn of a channel's backfill fetches; the rest queues again.",
        "BACKFILL_MAX_FETCH_LIMIT",
    )
    message_sync_limit: Count = setting(
        200,
        "How many of a channel's newest messages a reconciliation compares with the platform.",
        "MESSAGE_SYNC_LIMIT",
    )
    reconcile_calls_per_cycle: Budget = setting(
        50, "The most calls a cycle spends on comparing what is stored with the platform; 0 for none."
    )
    context_agent_max_messages: Count = setting(
        50_000, "How many messages deep a channel's history is mirrored.", "CONTEXT_AGENT_MAX_MESSAGES"
    )
    fire_concurrency: Count = setting(8, "How many accounts send reminders at once.", "BOT_FIRE_CONCURRENCY")
    group_concurrency: Count = setting(
        3,
        "How many targets of one account are in flight at once; always 1 on WhatsApp, which sends in turn.",
        "BOT_GROUP_CONCURRENCY",
    )

    def sends_per_minute(self, platform: Platform, standing: Standing) -> int:
        """The pace of an account: at most ``max_send_per_minute``, and slower on WhatsApp until it is established."""
        if platform is not Platform.WHATSAPP:
            return self.max_send_per_minute
        by_standing = {
            Standing.NEW: self.whatsapp_new_sends_per_minute,
            Standing.NORMAL: self.whatsapp_normal_sends_per_minute,
            Standing.ESTABLISHED: self.whatsapp_established_sends_per_minute,
        }
        return min(by_standing[standing], self.max_send_per_minute)

    def chat_sends_per_minute(self, platform: Platform) -> int | None:
        """The pace of one chat, where a platform has such a limit."""
        return self.telegram_chat_sends_per_minute if platform is Platform.TELEGRAM else None

    def reads_per_second(self, platform: Platform) -> float:
        return {
            Platform.TELEGRAM: self.telegram_reads_per_second,
            Platform.DISCORD: self.discord_reads_per_second,
            Platform.WHATSAPP: self.whatsapp_reads_per_second,
        }[platform]

    def reads_at_once(self, platform: Platform) -> int:
        return {
            Platform.TELEGRAM: self.telegram_reads_at_once,
            Platform.DISCORD: self.discord_reads_at_once,
            Platform.WHATSAPP: self.whatsapp_reads_at_once,
        }[platform]

    def silent_takeover_for(self, platform: Platform) -> timedelta:
        """How long a silent owner keeps an account of *platform* (law 8); a dead one loses it at once."""
        return max(self.time_out, self.telegram_silent_takeover_for if platform is Platform.TELEGRAM else self.time_out)
