"""JSON documents of files that are kept: the list, the policy, and what checks and sweeps found."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.core.ids import ChannelId, FileId, MessageId
from tidegate.core.json_fields import Instant, document_of, instant
from tidegate.database.pool import Connection
from tidegate.media.queries import media_blobs, media_pauses, media_rules, media_totals
from tidegate.media.queries.file_list import ListedFile
from tidegate.media.queries.media_rules import NamedRule
from tidegate.media.queries.media_totals import MediaTotal
from tidegate.media.rules.media_policy import DEFAULT_LARGEST, sentence_of


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaRow:
    """A file. *reason* is why it is not kept, *next_try_at* when a failed one is tried again."""

    platform: str
    file: FileId
    channel: ChannelId | None
    title: str
    message: MessageId | None
    name: str
    kind: str
    size: int
    state: str
    reason: str | None
    attempts: int
    next_try_at: Instant | None
    sha256: str | None
    type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleRow:
    """A rule of the operator; null says nothing. *channel_limit* is for all files of a channel."""

    account: str | None
    channel: ChannelId | None
    title: str | None
    kind: str | None
    action: str | None
    largest: int | None
    beyond: str | None
    channel_limit: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaPolicyDocument:
    """Which files are kept, and how many are. Without a *total_limit* the disk decides.

    *asks* is true until the operator of an older database decided. *waits* says why no files are fetched.
    """

    enabled: bool
    asks: bool
    total_limit: int | None
    keep_protected: bool
    default_largest: int
    rules: list[RuleRow]
    stored_files: int
    stored_bytes: int
    totals: list[MediaTotal]
    waits: list[str]


def media_row(one: ListedFile) -> MediaRow:
    """One file of a list."""
    return document_of(MediaRow, one, reason=sentence_of(one.reason) or None, next_try_at=instant(one.next_try_at))


async def policy_document(connection: Connection) -> MediaPolicyDocument:
    """The policy in force, and what came of it."""
    policy = await media_rules.policy(connection)
    stored = await media_blobs.stored_total(connection)
    return MediaPolicyDocument(
        enabled=policy.state.enabled,
        asks=policy.asks,
        total_limit=policy.state.total_limit,
        keep_protected=policy.state.keep_protected,
        default_largest=DEFAULT_LARGEST,
        rules=[_rule_row(one) for one in await media_rules.named_rules(connection)],
        stored_files=stored.files,
        stored_bytes=stored.bytes,
        totals=await media_totals.totals(connection),
        waits=await media_pauses.sentences(connection),
    )


def _rule_row(one: NamedRule) -> RuleRow:
    return document_of(
        RuleRow, one, account=one.account_name, channel=one.channel_number, channel_limit=one.whole_limit
    )
