"""Files and what platforms gave for them: read piece by piece, kept by the account's owner only."""

from __future__ import annotations

from hashlib import sha256

import pytest

from tests.conftest import Database
from tests.reminders.run_builder import a_run, an_account, frozen
from tidegate.core.account import Claim
from tidegate.core.errors import NotOurs
from tidegate.platforms.interface.uploads import MediaKind, MediaRef
from tidegate.reminders.queries import media_files, media_uploads, runs

pytestmark = pytest.mark.both_servers


async def test_a_long_file_is_read_some_pieces_at_a_time(database: Database) -> None:
    """Every piece comes once and in order, and no query brings more of them than are held at once."""
    content = b"".join(bytes([number]) * media_files.PIECE for number in range(23)) + b"end"
    which = sha256(content).digest()
    async with database.transaction() as connection:
        await media_files.keep(connection, which, content, "video/mp4")
        read = [
            await media_files.pieces(connection, which, first) for first in range(0, 24, media_files.PIECES_AT_ONCE)
        ]
    assert [len(some) for some in read] == [10, 10, 4]
    assert b"".join(piece for some in read for piece in some) == content


async def test_only_the_owner_keeps_an_upload(database: Database) -> None:
    """What an owner keeps is found and counted; what an old one brings late is refused and changes nothing."""
    async with database.transaction() as connection:
        account = await an_account(connection)
        run = await frozen(connection, a_run(account))
        which = sha256(b"poster").digest()
        await media_files.keep(connection, which, b"poster", "image/jpeg")
        ours, theirs = Claim(account, 0, float("inf")), Claim(account, 1, float("inf"))
        for reference in (MediaRef(b"first"), MediaRef(b"second")):
            await media_uploads.keep(connection, ours, which, MediaKind.PICTURE, reference, run=run)
        with pytest.raises(NotOurs):
            await media_uploads.keep(connection, theirs, which, MediaKind.PICTURE, MediaRef(b"late"), run=run)
        assert await media_uploads.find(connection, account, which, MediaKind.PICTURE, lasts=None) == b"second"
        assert (await runs.find(connection, run)).uploads == 2
