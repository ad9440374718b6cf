"""Pages speak to people: they name no command for a terminal, and use none of the words that were retired."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import tidegate.web
from tests.maintenance import filled_database
from tests.problems import problem_rows
from tests.web.page_crawl import crawl, words_of
from tests.web.retired_phrases import RETIRED
from tests.web.visiting import htmx, sign_in, visiting
from tidegate.app.settings import Settings
from tidegate.cli import app
from tidegate.database.pool import Database

WEB = Path(tidegate.web.__file__).parent

COMMAND = re.compile(
    rf"\btidegate ({'|'.join(sorted(one.name or '' for one in app.registered_groups if one.name))}|"
    r"serve|web|worker|status|doctor|search|context|calls|cycle|feed|plan|backfill|runs) ?"
)

FOR_SCRIPTS = ("api", "openapi.py", "auth/token_check.py")
"""Documents and errors that a program reads."""

AT_THE_MACHINE = "tidegate web --sign-in-link"
"""Whoever is not signed in and has no password can prove who they are at the machine alone."""


MEANINGS = [words_of(field.description or "").removesuffix(" . ").strip() for field in Settings.model_fields.values()]
"""What settings are for: those of other commands name them, and tell nobody to run one."""


@cache
def told() -> dict[str, str]:
    """What each file of the pages tells people: the words of a template, the strings of a module and of a script."""
    found = {}
    for path in sorted(WEB.rglob("*")):
        name = str(path.relative_to(WEB))
        if name.startswith(FOR_SCRIPTS) or "min.js" in name:
            continue
        if path.suffix == ".html":
            found[name] = words_of(path.read_text())
        elif path.suffix == ".py":
            found[name] = " . ".join(_strings(ast.parse(path.read_text())))
        elif path.suffix == ".js":
            found[name] = " . ".join(re.findall(r'"[^"\n]*"|`[^`]*`', path.read_text()))
    return found


def _strings(tree: ast.AST) -> Iterator[str]:
    """The strings of a module without its docstrings."""
    for node in ast.walk(tree):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Constant) and isinstance(child.value, str) and not isinstance(node, ast.Expr):
                yield child.value


@pytest.mark.parametrize("name", told())
def test_no_file_of_the_pages_names_a_command(name: str) -> None:
    """Whoever reads a page has no terminal: it has a button or a link instead."""
    text = told()[name].replace(AT_THE_MACHINE, "")
    assert [found[0] for found in COMMAND.finditer(text)] == []


@pytest.mark.parametrize("name", told())
def test_no_file_of_the_pages_uses_a_retired_phrase(name: str) -> None:
    """A word that people stumbled over does not come back."""
    assert [phrase for phrase in RETIRED if phrase in told()[name]] == []


async def test_no_page_shows_a_command_or_a_retired_phrase(database: Database) -> None:
    """Also not in sentences of the engine, of which many name commands: problems, causes, and reasons of states."""
    await filled_database.fill(database)
    await problem_rows.fill(database, problem_rows.ACCOUNTS)
    await database.pool.execute(
        """
        UPDATE accounts SET state_why = 'It is paused. Resume it: tidegate account resume NAME' WHERE name = 'odd';
        UPDATE channels SET reader = 1;
        UPDATE runs SET cause = 'A file is missing. Retry: tidegate runs resume 1', error_summary = 'tidegate runs';
        UPDATE house SET runs_paused_at = clock_now(), backed_up_at = '2026-01-01';
        """
    )
    async with visiting(database) as client:
        await sign_in(client, database)
        pages = await crawl(client, "/nowhere", "/channels/999", "/activity/999", "/accounts/activity?name=nobody")
    assert len(pages) > 30
    for meaning in MEANINGS:
        pages["/settings"] = pages["/settings"].replace(meaning, "")
    assert {path: found[0] for path, text in pages.items() if (found := COMMAND.search(text))} == {}
    shown = {path: [phrase for phrase in RETIRED if phrase in text] for path, text in pages.items()}
    assert {path: ones for path, ones in shown.items() if ones} == {}


async def test_a_refusal_on_a_page_names_no_command(database: Database) -> None:
    """The engine's sentence ends with a command; the page shows the rest of it, the API all."""
    await filled_database.fill(database)
    run = await database.pool.fetchval("SELECT min(id) FROM runs")
    async with visiting(database) as client:
        token = await sign_in(client, database)
        data = {"resolution": "sent", "group": "Nobody"}
        answer = await client.post(f"/activity/{run}/resolve", data=data, headers=htmx(token))
    assert answer.status_code == 400
    assert "tidegate" not in answer.json()["detail"]
    assert 'no group "Nobody"' in answer.json()["detail"]
