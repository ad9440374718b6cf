"""Whatever needs a person is on Home and counted in the menu, each with a button that leads to where it is mended."""

from __future__ import annotations

import re

import pytest

from tests.problems.problem_rows import ACCOUNTS, ARCHIVES, CHANNELS, fill
from tests.reminders.run_builder import a_run, frozen
from tests.web.visiting import sign_in, visiting
from tidegate.database.pool import Database
from tidegate.problems.local_disk import DiskSpace
from tidegate.problems.problem import ProblemKind
from tidegate.web import menu
from tidegate.web.menu import LINKS

_REST = """
    UPDATE house SET runs_paused_at = clock_now(), backed_up_at = clock_now() - interval '90 days';
    INSERT INTO media_pauses (account, machine, sentence) VALUES (1, 'here', 'The store is full.');
    UPDATE runs SET state = 'ended', status = 'partial', ended_at = clock_now(), counts = '{}',
        error_summary = '1 of 2.' WHERE id = 1;
    UPDATE run_parts SET state = 'unknown', claimed_at = clock_now() - interval '1 hour' WHERE run = 2 AND target = 1;
    UPDATE runs SET state = 'needs_attention' WHERE id = 3;
    UPDATE runs SET state = 'paused', paused_by = 'restore' WHERE id = 4;
"""

IN_VIEW = {
    ProblemKind.ARCHIVES_FAILED, ProblemKind.ARCHIVES_GIVEN_UP, ProblemKind.ACCOUNT_SIGNED_OUT,
    ProblemKind.ACCOUNT_BANNED, ProblemKind.ACCOUNT_UNREACHABLE, ProblemKind.SENDING_PAUSED,
    ProblemKind.RUN_NOT_DELIVERED, ProblemKind.OUTCOME_UNKNOWN, ProblemKind.RUN_NEEDS_ATTENTION,
    ProblemKind.RUN_PAUSED, ProblemKind.CHANNELS_BEHIND, ProblemKind.DISK_NEARLY_FULL, ProblemKind.BACKUP_TOO_OLD,
    ProblemKind.FILES_WAIT, ProblemKind.ARCHIVES_WAIT, ProblemKind.CHANNELS_UNREADABLE, ProblemKind.ACCOUNT_STOPPED,
}  # fmt: skip


async def test_every_problem_is_on_home_and_counted_in_the_menu(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each kind that an operator must see: the number on Home is that of its list, and every button has its page."""
    await fill(database, ACCOUNTS, CHANNELS, ARCHIVES)
    async with database.transaction() as connection:
        account = await connection.fetchval("SELECT id FROM accounts WHERE name = 'ada'")
        for _ in range(4):
            await frozen(connection, a_run(account))
    await fill(database, _REST)
    await fill(
        database,
        """
        INSERT INTO workers (number, name, sessions, host, process, version, seats, time_out, beat_at)
        VALUES (8, 'bob', 's', 'h', 'p', '1', 10, '15 s', clock_now())
        """,
    )
    monkeypatch.setattr(menu, "disk_space", lambda folder: DiskSpace(folder, 1, 100))
    async with visiting(database) as client:
        await sign_in(client, database)
        text = (await client.get("/")).text
        listed = text[text.index('<ul class="problems">') : text.index("</section>", text.index('class="problems"'))]
        [home] = set(re.findall(r'href="/"[^>]*>.*?class="count"[^>]*>(\d+)', text, re.DOTALL)[:1])
        buttons = re.findall(r'<a class="button" href="([^"]+)">([^<]+)</a>', listed)
        for path, _ in buttons:
            assert (await client.get(path.partition("#")[0])).status_code == 200, path
    assert int(home) == listed.count("<li>") == len(buttons)
    assert {LINKS[kind].words for kind in IN_VIEW} <= {words for _, words in buttons}
    assert len(buttons) == len(IN_VIEW)
