"""What the policy says about the files of messages: when messages are stored, and when the policy changed since."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta

from tidegate.archives.rules.file_names import read_name
from tidegate.core.ids import AccountId, ChannelKey
from tidegate.database.pool import Connection, Database
from tidegate.media import avatars
from tidegate.media.queries import media_files, media_plans, media_rules
from tidegate.media.queries.media_files import NotedFile
from tidegate.media.queries.media_plans import StoredFile
from tidegate.media.queries.media_rules import MediaPolicy
from tidegate.media.rules.media_policy import FilePart, MediaFacts, MediaPlace, decide_file, kind_of, needs_still
from tidegate.platforms.interface import File, FileKind, FileRole, Message, PhotoSize

BATCH = 500
"""How many stored files are decided about in one transaction."""

SAFETY = timedelta(minutes=10)
"""A handle that ends sooner is not worth storing: it would have to be renewed in the middle of the file."""


async def note_files(
    connection: Connection, channel: ChannelKey, reader: AccountId, messages: Sequence[Message]
) -> None:
    """Store what becomes of the files of messages that are new or changed, in the transaction of their page."""
    if not any(message.files or message.further_files for message in messages):
        return
    policy = await media_rules.policy(connection)
    if not policy.state.enabled:
        return
    place = await media_rules.place_of(connection, channel)
    noted = [_noted(policy, place, message, file) for message in messages for file in files_in(message)]
    await media_files.note(connection, place.platform, channel, reader, noted)


def _noted(policy: MediaPolicy, place: MediaPlace, message: Message, file: File) -> NotedFile:
    facts = facts_of(message, file)
    verdict = decide_file(policy.state, policy.rules, place, facts)
    fetched = file.picture if verdict.part is FilePart.THUMBNAIL and file.picture is not None else file
    return NotedFile(
        file.id,
        facts.kind,
        message.id,
        file.size,
        verdict.part,
        verdict.reason or "",
        expected=fetched.size,
        handle=fetched.handle or None if verdict.wanted else None,
        until=None if file.valid_until is None else file.valid_until - SAFETY,
        still=still_of(file) if verdict.part is FilePart.WHOLE else None,
    )


def still_of(file: File) -> PhotoSize | None:
    """The platform's small picture of a file of which Tidegate draws none itself."""
    return file.picture if needs_still(form=file.form, mime=file.mime) else None


def is_archive_part(name: str, kind: str, role: str) -> bool:
    """Whether a file is a part of an archive, as archives are recognised."""
    return kind == FileKind.DOCUMENT and role == FileRole.OWN and read_name(name) is not None


# After a change of policy


async def apply_policy(database: Database, account: AccountId) -> bool:
    """Decide about the next batch of stored files under a policy that is newer; False when all are decided about.

    Whether a message forbids saving, and whether the platform has a small picture, is not stored. Such a file is asked
    for; its message is read first.
    """
    async with database.transaction() as connection:
        policy = await media_rules.policy(connection)
        revision = policy.state.revision
        channel = await media_plans.next_undecided(connection, account, revision)
        if channel is None:
            return False
        before = await media_plans.below(connection, channel, revision)
        found = await media_plans.stored_files(connection, channel, before, most=BATCH)
        ended = len(found) < BATCH
        whole = found if ended else _whole_messages(found)
        if policy.state.enabled:
            place = await media_rules.place_of(connection, channel)
            if before is None:
                await avatars.decide_stored(connection, policy, place)
            noted = [_stored(policy, place, one) for one in reversed(whole)]
            await media_files.note(connection, place.platform, channel, None, noted)
        await media_plans.move_on(connection, channel, revision, None if ended else whole[-1].message)
    return True


def _whole_messages(found: Sequence[StoredFile]) -> Sequence[StoredFile]:
    """The same without the last message, of which not all files may be there; one message alone stays."""
    last = found[-1].message
    return [one for one in found if one.message != last] or found


def _stored(policy: MediaPolicy, place: MediaPlace, one: StoredFile) -> NotedFile:
    facts = MediaFacts(
        kind_of(form=one.form, kind=one.kind, mime=one.mime),
        one.size,
        archive_part=is_archive_part(one.name, one.kind, one.role),
        thumbnail=0,
    )
    verdict = decide_file(policy.state, policy.rules, place, facts)
    part = None if one.deleted else verdict.part
    reason = "Its message is deleted." if one.deleted and verdict.wanted else verdict.reason or ""
    return NotedFile(
        one.file,
        facts.kind,
        one.message,
        one.size,
        part,
        reason,
        expected=one.size if part is FilePart.WHOLE else 0,
        gone=one.deleted and verdict.wanted,
    )


def facts_of(message: Message, file: File) -> MediaFacts:
    """A file as the policy sees it, with all that its message says."""
    return MediaFacts(
        kind_of(form=file.form, kind=file.kind, mime=file.mime),
        file.size,
        protected=message.protected,
        fleeting=file.fleeting,
        archive_part=is_archive_part(file.name, file.kind, file.role),
        thumbnail=None if file.picture is None else file.picture.size,
    )


def files_in(message: Message) -> Iterable[File]:
    """All files of a message, wherever it shows them."""
    return (*message.files, *message.further_files)
