"""Everything an operator can set, as one typed object; ``setting_sources`` finds the values.

Only ``app`` and the packages above it read settings; the others get them as arguments.
"""

from __future__ import annotations

import os
import re
import socket
from datetime import timedelta
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from tidegate.app.setting_types import (
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
    SocketPath,
    Span,
    StoreAddress,
    Switch,
    TimeOut,
    TrustedProxies,
    WorkerName,
    setting,
)
from tidegate.core.account import Standing
from tidegate.core.message_content import ExpiredMessages
from tidegate.core.platform import Platform
from tidegate.platforms.discord import DISCORD
from tidegate.platforms.telegram import TELEGRAM
from tidegate.platforms.whatsapp import WHATSAPP

T = TypeVar("T")


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
    """What the operator set, checked; ``Settings()`` has the defaults alone and reads no source."""

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
        return (init_settings,)  # ``setting_sources`` finds the values and their sources

    home: Home = setting(
        _default_home, "The data folder. Holds the embedded database, the key file and an optional tidegate.toml."
    )
    database_url: Secret = setting(
        None,
        "The PostgreSQL server to use (14 or newer). The default is an embedded server in the data folder.",
        "DATABASE_URL",
    )
    database_direct_url: Secret = setting(
        None,
        "The same database without a connection pooler, for locks and LISTEN. The default is database_url.",
        "DATABASE_DIRECT_URL",
    )
    database_connections: Count = setting(
        10, "Maximum number of database connections per process. A worker uses a few more for its lock and for LISTEN."
    )
    key: Secret = setting(
        None,
        "The keys that encrypt sign-ins, one ID:BASE64 per line. The default is secret.key in the data folder.",
    )

    worker_name: WorkerName = setting(
        _default_worker_name,
        "The worker's name in account list, logs and PostgreSQL. Each process needs its own.",
    )
    seats: Count = setting(1_000, "Maximum number of accounts per worker.")
    time_out: TimeOut = setting(
        timedelta(seconds=15), "How long a worker may be silent before other workers take its accounts."
    )
    telegram_silent_takeover_for: Span = setting(
        timedelta(minutes=10),
        "How long a silent worker keeps its Telegram accounts. At least time_out. A dead worker loses them at once.",
    )

    web_host: Host = setting("127.0.0.1", "The address the web server listens on.")
    web_port: Port = setting(8742, "The port the web server listens on.")
    web_socket: SocketPath = setting(
        None, "A Unix socket the web server listens on instead of a port. A proxy at web_url forwards to it."
    )
    web_url: PublicUrl = setting(None, "The public address of the pages behind a proxy. Its path is the URL prefix.")
    web_hosts: PublicHosts = setting(
        None, "More host names that requests may use, besides the host of web_url and this machine's own names."
    )
    web_proxies: TrustedProxies = setting(
        None, "Proxies whose X-Forwarded-For and X-Forwarded-Proto headers are trusted."
    )
    web_waits_for: Span = setting(
        timedelta(seconds=30), "How long a page or an API response waits for the database before it fails."
    )
    web_session_for: Span = setting(timedelta(days=30), "How long a browser stays signed in after its last use.")
    web_session_at_most: Span = setting(
        timedelta(days=90), "Maximum time a browser stays signed in, even if it is used."
    )
    web_connections: Count = setting(
        1_000, "Maximum number of open web connections. Lower if the process may open few files."
    )
    web_header_time_out: Span = setting(
        timedelta(seconds=10), "How long a client may take to send the headers of a request."
    )
    web_stall_time_out: Span = setting(
        timedelta(seconds=30), "How long a client may stall while it sends a body or reads a response."
    )
    web_heavy_requests: Count = setting(
        2, "Maximum number of heavy requests one token or browser runs at once. More are answered with 429."
    )
    web_requests_per_second: Count = setting(
        100, "Maximum requests per second of one client. Bursts of ten seconds' worth are allowed."
    )
    worker_port: Annotated[Port | None, Allowed("a port from 1 to 65535, or left out for none")] = setting(
        None, "The port on which `tidegate worker` answers /health and /metrics. The default is none."
    )
    log_level: Annotated[LogLevel, Allowed("debug, info, warning or error")] = setting(
        LogLevel.INFO, "The lowest level of log lines that are written."
    )
    log_format: Annotated[LogFormat, Allowed("auto, people or json")] = setting(
        LogFormat.AUTO, "The format of log lines. auto writes text on a terminal and JSON elsewhere."
    )

    keep_calls_for: KeptForCaps = setting(timedelta(days=90), "How long the ledger (log of platform calls) is kept.")
    keep_events_for: Span = setting(timedelta(days=30), "How long events of the feed are kept.")
    keep_commands_for: Span = setting(timedelta(days=7), "How long finished commands are kept.")
    keep_runs_for: Span = setting(timedelta(days=90), "How long finished runs of reminders are kept.")
    expired_messages: Annotated[ExpiredMessages, Allowed("keep or erase")] = setting(
        ExpiredMessages.KEEP,
        "Messages whose time to live ended: keep them, marked as deleted, or erase them.",
    )
    backed_up_within: Span = setting(
        timedelta(days=8),
        "How old the last tidegate db backup may be before status reports it. Backups by other tools are unknown.",
    )

    max_send_per_minute: Count = setting(
        40,
        "Maximum message parts one account sends per minute, on every platform.",
        "BOT_MAX_SEND_PER_MINUTE",
    )
    send_burst: Count = setting(
        1,
        "How many parts an account may send at once after a pause; adds burst - 1 to that minute.",
    )
    telegram_chat_sends_per_minute: Count = setting(
        20,
        "Maximum messages per minute one account sends into one Telegram chat, including filed archives.",
    )
    sends_per_hour: Cap = setting(None, "Maximum parts an account sends in any 60 minutes. The default is no cap.")
    sends_per_day: Cap = setting(None, "Maximum parts an account sends in any 24 hours. The default is no cap.")
    whatsapp_new_sends_per_minute: Count = setting(4, "Sends per minute of a WhatsApp account with standing new.")
    whatsapp_normal_sends_per_minute: Count = setting(
        12, "Sends per minute of a WhatsApp account with standing normal."
    )
    whatsapp_established_sends_per_minute: Count = setting(
        40, "Sends per minute of a WhatsApp account with standing established."
    )
    warm_up: Switch = setting(
        True,  # noqa: FBT003 - a default, read beside its name
        "Whether a WhatsApp account with standing new starts with few sends per day, and more each day.",
    )
    warm_up_first_day: Count = setting(20, "Maximum parts on the first day of a warm-up.")
    warm_up_growth: Growth = setting(1.8, "The factor by which the daily maximum grows on each day of a warm-up.")
    warm_up_days: Count = setting(7, "How many days a warm-up lasts.")
    warm_up_again_after: Span = setting(
        timedelta(hours=72), "How long an account must send nothing before its warm-up starts again."
    )

    telegram_reads_per_second: Rate = setting(
        TELEGRAM.reads_per_second, "Maximum read calls per second of a Telegram account."
    )
    telegram_reads_at_once: Count = setting(
        TELEGRAM.reads_at_once, "Maximum concurrent read calls of a Telegram account."
    )
    discord_reads_per_second: Rate = setting(
        DISCORD.reads_per_second, "Maximum read calls per second of a Discord account."
    )
    discord_reads_at_once: Count = setting(DISCORD.reads_at_once, "Maximum concurrent read calls of a Discord account.")
    whatsapp_reads_per_second: Rate = setting(
        WHATSAPP.reads_per_second, "Maximum read calls per second of a WhatsApp account."
    )
    whatsapp_reads_at_once: Count = setting(
        WHATSAPP.reads_at_once, "Maximum concurrent read calls of a WhatsApp account."
    )

    telegram_api_id: ApiId = setting(None, "Your Telegram application's api_id, from my.telegram.org.")
    telegram_api_hash: Secret = setting(None, "Your Telegram application's api_hash, from my.telegram.org.")
    discord_live: Switch = setting(
        True,  # noqa: FBT003 - a default, read beside its name
        "Whether Discord accounts receive gateway events. If false, every cycle polls with two calls per server.",
    )
    cycle_every: Span = setting(timedelta(minutes=60), "How often an account's channels are checked, plus jitter.")
    cycle_every_live: SafetyNet = setting(
        timedelta(hours=4),
        "How often they are checked while push updates arrive, as a safety net, plus jitter.",
    )
    pages_a_turn: Count = setting(
        50, "Maximum calls for reading one channel or topic per cycle. The next cycle continues from there."
    )
    fresh_for: Span = setting(
        timedelta(minutes=5),
        "How long a channel or topic is not scanned again after a scan that found nothing.",
        Alias("WORKER_SKIP_RECENT_SCAN_WINDOW_MS", timedelta(milliseconds=1), "a number of milliseconds above 0"),
    )
    cold_after_empty_scans: Count = setting(
        5,
        "Number of empty scans in a row after which a channel or topic is cold.",
        "WORKER_EMPTY_SCAN_BACKOFF_THRESHOLD",
    )
    cold_every_nth_cycle: Count = setting(
        5, "A cold channel or topic is scanned in every Nth cycle.", "WORKER_EMPTY_SCAN_BACKOFF_EVERY_NTH"
    )
    preview_calls_per_cycle: Budget = setting(
        50, "Maximum calls per cycle for preview pictures of archives. 0 turns previews off."
    )
    retry_cap: Count = setting(5, "Number of attempts before a failed archive waits for the operator.")
    archive_size_limit: Size = setting(
        None, "Maximum size of an archive. Larger ones fail, and are retried once the limit is raised."
    )
    disk_reserve: Room = setting(
        1 << 30,
        "Disk space that stays free. An archive or a file that would use it waits until there is room.",
    )
    media_store: StoreAddress = setting(
        None,
        "Where files are kept: s3://BUCKET/PREFIX, with ?endpoint=URL&region=NAME. The default is the data folder.",
    )
    media_key: Secret = setting(None, "The access key of an S3 store.")
    media_secret: Secret = setting(None, "The secret key of an S3 store.")
    archive_quiet_for: Span = setting(
        timedelta(hours=1), "How long no new part may arrive before a set without a known end counts as complete."
    )
    archive_collect_for: Span = setting(
        timedelta(days=1), "How long a set waits for a missing part before it is shown as incomplete."
    )
    discord_cycle_every: Span = setting(
        timedelta(minutes=15), "How often a Discord account's servers are checked while no gateway events arrive."
    )
    discord_cycle_every_live: Span = setting(
        timedelta(minutes=60), "How often they are checked while gateway events arrive."
    )
    backfill_concurrency: Cap = setting(
        None,
        "Maximum channels of one account that are backfilled at once. The default is as many as its limits allow.",
        "BACKFILL_CONCURRENCY",
    )
    backfill_max_iterations: Count = setting(
        10,
        "Maximum rounds in one portion of a channel's backfill. The rest is queued again.",
        "BACKFILL_MAX_ITERATIONS",
    )
    backfill_parallel_batches: Count = setting(
        3, "Number of time slices the backfill of one huge channel is split into.", "BACKFILL_PARALLEL_BATCHES"
    )
    backfill_max_fetch_limit: Count = setting(
        1_000,
        "Maximum messages fetched in one portion of a channel's backfill. The rest is queued again.",
        "BACKFILL_MAX_FETCH_LIMIT",
    )
    message_sync_limit: Count = setting(
        200,
        "How many of a channel's newest messages a reconciliation compares with the platform.",
        "MESSAGE_SYNC_LIMIT",
    )
    reconcile_calls_per_cycle: Budget = setting(
        50, "Maximum calls per cycle for comparing stored messages with the platform. 0 turns it off."
    )
    refill_calls_per_hour: Budget = setting(
        300, "Maximum calls per account and hour to complete messages stored by an earlier version. 0 turns it off."
    )
    verify_within: Span = setting(
        timedelta(days=30), "How soon all of a history is compared with the platform again, if the calls suffice."
    )
    verify_calls_per_day: Budget = setting(
        500, "Maximum calls per account and day to compare whole histories again. 0 turns it off."
    )
    context_agent_max_messages: Count = setting(
        50_000, "How many messages deep a channel's history is mirrored.", "CONTEXT_AGENT_MAX_MESSAGES"
    )
    fire_concurrency: Count = setting(
        8, "Maximum number of accounts that send reminders at once.", "BOT_FIRE_CONCURRENCY"
    )
    group_concurrency: Count = setting(
        3,
        "Maximum targets of one account in flight at once. Always 1 on WhatsApp.",
        "BOT_GROUP_CONCURRENCY",
    )

    def sends_per_minute(self, platform: Platform, standing: Standing) -> int:
        """The pace of an account: at most ``max_send_per_minute``, and slower where its standing sets the pace."""
        if not platform.paced_by_standing:
            return self.max_send_per_minute
        return min(self._of_standing(platform, standing), self.max_send_per_minute)

    def pace_in_words(self, platform: Platform, standing: Standing) -> str:
        """The pace of an account and the setting that bounds it."""
        rate = self.sends_per_minute(platform, standing)
        by_standing = platform.paced_by_standing and rate == self._of_standing(platform, standing)
        bound = _standing_pace(platform, standing) if by_standing else "max_send_per_minute"
        return f"up to {rate} a minute (setting {bound})"

    def chat_sends_per_minute(self, platform: Platform) -> int | None:
        """The pace of one chat, where a platform has such a limit."""
        return self._of_platform(platform, "chat_sends_per_minute", None)

    def reads_per_second(self, platform: Platform) -> float:
        return self._of_platform(platform, "reads_per_second", platform.reads_per_second)

    def reads_at_once(self, platform: Platform) -> int:
        return self._of_platform(platform, "reads_at_once", platform.reads_at_once)

    def guild_cycle_every(self, platform: Platform) -> timedelta:
        """How often guilds of *platform* are checked while no push updates arrive."""
        return self._of_platform(platform, "cycle_every", self.cycle_every)

    def guild_cycle_every_live(self, platform: Platform) -> timedelta:
        """How often guilds of *platform* are checked while push updates arrive."""
        return self._of_platform(platform, "cycle_every_live", self.cycle_every_live)

    def silent_takeover_for(self, platform: Platform) -> timedelta:
        """How long a silent owner keeps an account of *platform*; a dead one loses it at once.

        Invariant: one-owner-per-account.
        """
        return max(self.time_out, self._of_platform(platform, "silent_takeover_for", self.time_out))

    def _of_platform(self, platform: Platform, name: str, otherwise: T) -> T:
        """The setting PLATFORM_NAME, or *otherwise* where a platform has none of its own."""
        found: T = getattr(self, f"{platform}_{name}", otherwise)
        return found

    def _of_standing(self, platform: Platform, standing: Standing) -> int:
        pace: int = getattr(self, _standing_pace(platform, standing), self.max_send_per_minute)
        return pace


def _standing_pace(platform: Platform, standing: Standing) -> str:
    """The setting for the sends per minute of an account with that standing."""
    return f"{platform}_{standing.value}_sends_per_minute"
