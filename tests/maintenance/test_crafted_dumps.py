"""Dumps that somebody made up: whatever is in them, no program is run, no file is read, and only rows are taken."""

from __future__ import annotations

import asyncio
import itertools
import os
import re
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import on_database
from tests.databases import empty_database, rows, schema
from tests.maintenance.filled_database import fill, silent
from tests.servers import OwnServer
from tidegate.core.errors import BadInput, TidegateError
from tidegate.database.embedded.pg_programs import wheel_programs
from tidegate.database.migrations.upgrade import upgrade
from tidegate.database.pool import Address, Database
from tidegate.maintenance.backup_restore import back_up, restore
from tidegate.maintenance.dump_rows import DumpText, SequenceCounter, TableRows
from tidegate.maintenance.platform_library_tables import recognised

pytestmark = pytest.mark.both_servers

_numbers = itertools.count()
NOWHERE = Address("postgresql://nowhere.invalid/x", "postgresql://nowhere.invalid/x")
MARK = Path("/tmp") / f"tg{os.getpid()}"  # short, to fit in the place of other words, and open to any user
RUN = f"COPY (SELECT 1) TO PROGRAM 'cat>{MARK}'"  # it reads what it is given: else the copy fails now and then
EVIL = f"""
CREATE FUNCTION evil_program() RETURNS int LANGUAGE plpgsql AS $$ BEGIN {RUN}; RETURN 1; END $$;
CREATE FUNCTION evil() RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN public.evil_program(); END $$;
CREATE FUNCTION evil_trigger() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {RUN}; RETURN NEW; END $$;
"""
HOSTILE = {
    "a trigger": "CREATE TRIGGER t BEFORE INSERT ON accounts FOR EACH ROW EXECUTE FUNCTION evil_trigger()",
    "an index": "CREATE INDEX evil_index ON events ((evil()))",
    "a default": "ALTER TABLE accounts ALTER COLUMN name SET DEFAULT evil()",
    "a check": "ALTER TABLE accounts ADD CONSTRAINT evil_check CHECK (evil() = 1)",
    "a generated column": "ALTER TABLE accounts ADD COLUMN evil int GENERATED ALWAYS AS (evil()) STORED",
    "a rule": "CREATE RULE evil_rule AS ON INSERT TO accounts DO ALSO SELECT evil()",
    "a view": "CREATE OR REPLACE VIEW evil_view AS SELECT evil()",
    "a materialized view": "CREATE MATERIALIZED VIEW evil_view AS SELECT evil()",
    "a function of ours": f"CREATE OR REPLACE FUNCTION clock_now() RETURNS timestamptz LANGUAGE plpgsql VOLATILE AS "
    f"$$ BEGIN {RUN}; RETURN now(); END $$",
    "the superuser's function": "ALTER FUNCTION evil() SECURITY DEFINER",
    "a policy": "ALTER TABLE accounts ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON accounts USING (evil() = 1)",
    "an event trigger": "CREATE FUNCTION evil_event() RETURNS event_trigger LANGUAGE plpgsql AS "
    f"$$ BEGIN {RUN}; END $$; CREATE EVENT TRIGGER e ON ddl_command_end EXECUTE FUNCTION evil_event()",
    "a domain": "CREATE DOMAIN evil_domain AS int CHECK (evil() = 1); CREATE TABLE d (i evil_domain)",
    "an operator": "CREATE OPERATOR === (LEFTARG = int, RIGHTARG = int, FUNCTION = int4eq); SELECT evil()",
    "a file in a default": "ALTER TABLE accounts ALTER COLUMN name SET DEFAULT pg_read_file('/etc/passwd')",
    "another schema": "CREATE SCHEMA evil; CREATE TABLE evil.accounts AS SELECT evil() AS id",
}  # fmt: skip
LIBRARY_TABLE = "CREATE SCHEMA whatsapp; CREATE TABLE whatsapp.d (jid text)"
IN_WHATSAPPS_SCHEMA = {
    "a trigger": "CREATE TRIGGER t BEFORE DELETE ON whatsapp.d FOR EACH ROW EXECUTE FUNCTION evil_trigger()",
    "a function": "CREATE FUNCTION whatsapp.length(bytea) RETURNS int LANGUAGE plpgsql AS "
    f"$$ BEGIN {RUN}; RETURN 1; END $$",
    "a view": "CREATE VIEW whatsapp.whatsmeow_device AS SELECT evil()::text AS jid",
    "a default": "ALTER TABLE whatsapp.d ALTER COLUMN jid SET DEFAULT evil()::text",
    "a file in a default": "ALTER TABLE whatsapp.d ALTER COLUMN jid SET DEFAULT pg_read_file('/etc/passwd')",
    "a check": "ALTER TABLE whatsapp.d ADD CHECK (evil() = 1)",
    "an index": "CREATE INDEX i ON whatsapp.d ((evil()))",
    "a condition": "CREATE INDEX i ON whatsapp.d (jid) WHERE evil() = 1",
    "a generated column": "ALTER TABLE whatsapp.d ADD COLUMN g int GENERATED ALWAYS AS (evil()) STORED",
    "a rule": "CREATE RULE r AS ON DELETE TO whatsapp.d DO ALSO SELECT evil()",
    "a policy": "CREATE POLICY p ON whatsapp.d USING (evil() = 1)",
    "a child of ours": "CREATE TABLE whatsapp.child () INHERITS (public.accounts)",
    "a type": "CREATE TYPE whatsapp.evil AS ENUM ('a'); ALTER TABLE whatsapp.d ADD COLUMN e whatsapp.evil",
}  # fmt: skip


@pytest.fixture(autouse=True)
def _no_program_was_run() -> Iterator[None]:
    """Not by the server, and not by any program of ours."""
    yield
    ran = MARK.exists()
    MARK.unlink(missing_ok=True)
    assert not ran, "the dump ran a program"


@pytest.fixture(scope="session")
def workshop(test_folder: Path) -> Iterator[Address]:
    """A server on which the attacker may do everything, with a database to begin with."""
    server = OwnServer(test_folder / f"evil-{os.getpid()}", wheel_programs())
    asyncio.run(make_template(server.address))
    yield server.address
    server.leave()


async def make_template(workshop: Address) -> None:
    """A database of today's schema with rows, and with functions for the rest to call."""
    connection = await asyncpg.connect(workshop.direct)
    await connection.execute("CREATE DATABASE evil_template")
    await connection.close()
    made = on_database(workshop, "evil_template")
    await upgrade(made.direct)
    database = await Database.open(made)
    await fill(database)
    await database.pool.execute("UPDATE accounts SET name = repeat('A', 300) WHERE id = 1")
    await database.pool.execute(EVIL)
    await database.close()


@asynccontextmanager
async def evil_database(workshop: Address, sql: str) -> AsyncIterator[Address]:
    """A copy of it, changed by *sql*."""
    name = f"evil_{next(_numbers)}"
    connection = await asyncpg.connect(workshop.direct)
    try:
        await connection.execute(f"CREATE DATABASE {name} TEMPLATE evil_template STRATEGY file_copy")
        inside = await asyncpg.connect(on_database(workshop, name).direct)
        await inside.execute(sql)
        await inside.close()
        yield on_database(workshop, name)
        await connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
    finally:
        await connection.close()


async def dump_of(database: Address, file: Path, *options: str) -> Path:
    command = (str(wheel_programs() / "pg_dump"), "-Fc", *options, "-f", str(file), "-d", database.direct)
    assert await (await asyncio.create_subprocess_exec(*command)).wait() == 0
    MARK.unlink(missing_ok=True)
    return file


async def use(address: Address) -> None:
    """What any worker does, so that a trap would spring."""
    connection = await asyncpg.connect(address.direct)
    try:
        await connection.execute("INSERT INTO accounts (name, platform) VALUES ('new', 'discord')")
        await connection.execute("INSERT INTO events (kind, subject) VALUES ('test', 'new')")
        await connection.execute("SELECT * FROM run_target_states; SELECT clock_now(); ANALYZE; REINDEX TABLE accounts")
    finally:
        await connection.close()


@pytest.fixture(scope="session")
def own_schema(server: Address) -> list[str]:
    """The schema of this code on the server, dumped once."""

    async def dumped() -> list[str]:
        async with empty_database(server) as made:
            await upgrade(made.direct)
            return schema(made)

    return asyncio.run(dumped())


@pytest.mark.parametrize("what", HOSTILE)
async def test_only_rows_are_taken(
    workshop: Address, own_schema: list[str], target: Address, tmp_path: Path, what: str
) -> None:
    """The schema is our own steps', whatever the dump says of it; and what is left out is told."""
    said: list[str] = []
    async with evil_database(workshop, HOSTILE[what]) as evil:
        file = await dump_of(evil, tmp_path / "evil.dump")
    await restore(target, file, tell=said.append)
    await use(target)
    assert schema(target) == own_schema
    assert len((await rows(target))["accounts"]) == 21
    assert said[-1].startswith("left out what is not Tidegate's: ")
    assert "function evil_program()" in said[-1]


@pytest.mark.parametrize("what", IN_WHATSAPPS_SCHEMA)
async def test_more_than_plain_tables_of_whatsapps_library_is_refused(
    workshop: Address, tmp_path: Path, what: str
) -> None:
    """These tables are known from the dump alone, so they have to be tables and nothing else; no server is asked."""
    async with evil_database(workshop, f"{LIBRARY_TABLE}; {IN_WHATSAPPS_SCHEMA[what]}") as evil:
        file = await dump_of(evil, tmp_path / "evil.dump")
    with pytest.raises(BadInput, match="more than plain tables"):
        await restore(NOWHERE, file, tell=silent)


_ROWS = rb"COPY public\.accounts \([^)]*\) FROM stdin;\n"
EDITS = {
    "rows from a program": (_ROWS, f"COPY public.accounts FROM PROGRAM 'touch {MARK}';\n"),
    "psql's command for rows": (_ROWS, f"\\! touch {MARK}\n"),
    "a statement before rows": (_ROWS, f"{RUN};\nCOPY public.accounts (id) FROM stdin;\n"),
    "a counter": (rb"SELECT pg_catalog\.setval\('public\.target_lists_id_seq', 1, true\);\n", f"{RUN};\n"),
    "a function": (rb"CREATE FUNCTION public\.claim_send\(.{400}", f"\n\\! touch {MARK}\n{RUN};\n"),
    "a table": (rb"CREATE TABLE public\.accounts \(.{300}", f"{RUN};\n\\! touch {MARK}\n--"),
    "a table of WhatsApp's": (rb"CREATE TABLE whatsapp\.d \(\n    jid text\n\);\n", f"\n\\!touch {MARK}\n"),
    "the rows themselves": (
        rb"A{300}",
        f"x\n\\.\n\n{RUN};\n\\! touch {MARK}\n\\o |touch {MARK}\nCOPY public.events (kind) FROM stdin;\n",
    ),
    "the encoding": (rb"SET client_encoding = 'UTF8';", "SET client_encoding = 'x'';"),
}


@pytest.mark.parametrize("where", EDITS)
async def test_nothing_in_a_file_is_run(workshop: Address, target: Address, tmp_path: Path, where: str) -> None:
    """Statements and psql's own commands in any place of the file: taken as rows, refused, or passed over."""
    async with evil_database(workshop, LIBRARY_TABLE) as evil:
        file = await dump_of(evil, tmp_path / "evil.dump", "--compress=none")
    old, new = EDITS[where]
    content = file.read_bytes()
    found = re.search(old, content, re.DOTALL)
    assert found is not None
    assert len(new) <= len(found[0])
    file.write_bytes(content[: found.start()] + new.encode().ljust(len(found[0])) + content[found.end() :])
    try:
        await restore(target, file, tell=silent)
    except TidegateError:
        assert await rows(target) == {}


async def test_an_extension_that_is_not_on_the_list_is_refused(
    workshop: Address, target: Address, tmp_path: Path
) -> None:
    """Some read files or run programs once they are there. One that is on the list does no harm and is not made."""
    async with evil_database(workshop, "CREATE EXTENSION vector") as evil:
        file = await dump_of(evil, tmp_path / "evil.dump")
    file.with_name("other").write_bytes(file.read_bytes().replace(b"vector", b"dblink"))
    with pytest.raises(BadInput, match="extensions that Tidegate does not use: dblink"):
        await restore(NOWHERE, file.with_name("other"), tell=silent)
    await restore(target, file, tell=silent)
    connection = await asyncpg.connect(target.direct)
    assert await connection.fetchval("SELECT count(*) FROM pg_extension") == 1
    await connection.close()


async def test_our_own_backups_name_no_extension(workshop: Address, target: Address, tmp_path: Path) -> None:
    """An operator's server may have one in every database; the backup can be restored anywhere."""
    async with evil_database(workshop, "CREATE EXTENSION vector") as own:
        await back_up(own, tmp_path / "backup", force=False, tell=silent)
    assert b"vector" not in (tmp_path / "backup").read_bytes()[:200_000].replace(b"tsvector", b"")
    await restore(target, tmp_path / "backup", tell=silent)


@pytest.mark.parametrize("form", ["d", "t", "p"])
async def test_other_kinds_of_dumps_are_refused(database: Database, tmp_path: Path, form: str) -> None:
    """A folder's table of contents could name any file of this machine; plain SQL is a program."""
    file = tmp_path / "dump"
    command = [wheel_programs() / "pg_dump", f"-F{form}", "-f", file, "-d", database.address.direct]
    await asyncio.to_thread(subprocess.run, command, check=True)
    with pytest.raises(BadInput, match=r"is no backup|is not a file"):
        await restore(NOWHERE, file, tell=silent)
    shutil.rmtree(file, ignore_errors=True)


async def test_a_pipe_holds_nobody_up(tmp_path: Path) -> None:
    """It is read more than once, so it has to be a file."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BadInput, match="is not a file"):
        await restore(NOWHERE, tmp_path / "pipe", tell=silent)


class TestTheText:
    @given(st.lists(st.binary(max_size=40)), st.integers(1, 20))
    async def test_any_text_is_rows_and_counters_or_nothing(self, pieces: list[bytes], size: int) -> None:
        """Cut into whatever pieces: what is between the lines that begin and end rows comes out as it was."""
        content = b"\n".join(piece.replace(b"\n", b"").replace(b"\\", b"\\\\") for piece in pieces)
        content += b"\n" * bool(content)
        text = b'SET x;\nCOPY public."odd ""name" (a, "b c") FROM stdin;\n' + content + b"\\.\n\n\\! true\n"
        text += b"SELECT pg_catalog.setval('public.a_seq', 7, false);\nSELECT evil();\n"
        reader = asyncio.StreamReader()
        dump = DumpText(reader)
        for start in range(0, len(text), size):
            reader.feed_data(text[start : start + size])
        reader.feed_eof()
        found = []
        async for part in dump.parts():
            found.append(part)
            if isinstance(part, TableRows):
                assert b"".join([chunk async for chunk in dump.content()]) == content
        assert found == [
            TableRows("public", 'odd "name', ["a", "b c"]),
            SequenceCounter("public", "a_seq", 7, used=False),
        ]

    async def test_rows_that_do_not_end_are_told(self) -> None:
        """A file that was cut short is no table with fewer rows."""
        reader = asyncio.StreamReader()
        reader.feed_data(b"COPY public.t (a) FROM stdin;\n1\n2\n")
        reader.feed_eof()
        dump = DumpText(reader)
        assert await anext(dump.parts()) == TableRows("public", "t", ["a"])
        with pytest.raises(TidegateError, match="ends in the middle"):
            [chunk async for chunk in dump.content()]

    @pytest.mark.parametrize(
        "condition",
        [
            "(pg_read_file('/etc/passwd') = 'x')", "(pg_read_file  ('/etc/passwd') = 'x')", "(E'\\' OR f(' = 'x')",
            "(e'\\' OR f(' = 'x')", "(pg_catalog.length(a) = 1)", "(a = 1 -- )", "(a /* = 1 */)", "(U&'\\0061' = 'a')",
            "(a = 1), b int, c (d)", '("length"(a) = 1)', "(a = $$x$$)", "(SELECT 1)", "(length(a) = 1;)",
            "(CASE a WHEN 1 THEN f(a) END)", "(a OPERATOR(pg_catalog.=) 1)", "(a = 1)) INHERITS (b",
        ],
    )  # fmt: skip
    def test_a_condition_calls_nothing(self, condition: str) -> None:
        """Whichever way it is written."""
        text = f"CREATE TABLE whatsapp.d (\n    a text,\n    CONSTRAINT c CHECK {condition}\n);\n"
        with pytest.raises(BadInput, match="more than plain tables"):
            recognised(text)
        with pytest.raises(BadInput, match="more than plain tables"):
            recognised(f"CREATE INDEX i ON whatsapp.d USING btree (a) WHERE {condition};\n")

    @given(st.text("abcdefghijklmnopqrstuvwxyz_ ()'\";,.$-/*\\\n:=EU&0", max_size=60))
    def test_whatever_a_condition_is_made_of(self, text: str) -> None:
        """What is taken has no quote that PostgreSQL would see otherwise, no remark, and no call but of a length."""
        try:
            recognised(f"CREATE TABLE whatsapp.d (\n    CONSTRAINT c CHECK ({text})\n);\n")
        except BadInput:
            return
        outside = re.sub(r"'(?:[^'\n]|'')*'", "''", text)
        assert not re.search(r"--|/\*|\$|\w'|;", outside)
        assert set(re.findall(r'([\w"]+) *\(', outside)) <= {"length", "octet_length"}
