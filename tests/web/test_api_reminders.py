"""The API about reminders and runs: written as JSON, looked at beforehand, fired, followed and steered."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from tests.held import holding
from tests.reminders.parse_count import counted_parses
from tests.web.api_client import refused, token
from tests.web.refusal_sentences import UNSTORABLE
from tests.web.reminder_client import GROUPS, PNG
from tests.web.reminder_document import WRITTEN
from tests.web.web_client import answering
from tidegate.access.queries.tokens import TokenScope
from tidegate.database.pool import Database
from tidegate.reminders import reminder_changes
from tidegate.reminders.reminder_files import LARGEST, as_read
from tidegate.reminders.reminder_parser import parse_reminder
from tidegate.web import make_app


@pytest.fixture
async def client(database: Database) -> AsyncIterator[httpx.AsyncClient]:
    """A client that shows a token for everything, and an account that writes to three groups."""
    await database.pool.execute(GROUPS)
    async with answering(make_app(database)) as opened:
        opened.headers["authorization"] = f"Bearer {await token(database)}"
        yield opened


@pytest.fixture
async def reminder(client: httpx.AsyncClient) -> str:
    """The address of a reminder to all three groups."""
    answer = await client.post("/api/reminders", json=WRITTEN)
    assert answer.status_code == 201, answer.text
    return str(answer.headers["location"])


@pytest.fixture
async def run(client: httpx.AsyncClient, reminder: str) -> str:
    """The address of a run that nobody delivers yet."""
    answer = await client.post(f"{reminder}/fire")
    assert (answer.status_code, answer.json()["counts"]["pending"]) == (202, 3), answer.text
    return str(answer.headers["location"])


class TestReminders:
    async def test_one_is_added_listed_shown_changed_and_forgotten(self, client: httpx.AsyncClient) -> None:
        """What is shown can be put again as it is; numbers and names both lead to it."""
        added = await client.post("/api/reminders", json={**WRITTEN, "schedule": {"every": "day"}})
        row = added.json()
        assert (added.status_code, added.headers["location"]) == (201, f"/api/reminders/{row['id']}")
        assert (row["targets"], row["parts"], row["hours"]) == ("all", 1, "00-24 UTC")
        assert row["due_at"]
        assert (await client.get("/api/reminders")).json() == [row]
        written = (await client.get(added.headers["location"])).json()
        assert (written["all"], written["schedule"]) == (True, {"cron": "0 9 * * *"})
        again = await client.put("/api/reminders/Friday stock", json=written)
        assert (again.status_code, again.json()) == (200, row)
        renamed = await client.put("/api/reminders/Friday stock", json={**written, "name": "Monday stock"})
        assert (renamed.json()["id"], renamed.json()["name"]) == (row["id"], "Monday stock")
        assert (await client.delete("/api/reminders/Monday stock")).status_code == 204
        sentence = refused(await client.get("/api/reminders/Monday stock"), 404)
        assert 'There is no reminder named "Monday stock"' in sentence

    async def test_each_request_parses_the_document_once(self, client: httpx.AsyncClient) -> None:
        """Adding, changing and firing each take the reminder in once; nothing on the way reads it again."""
        with counted_parses() as parses:
            added = await client.post("/api/reminders", json=WRITTEN)
            assert (added.status_code, parses.since_last()) == (201, 1)
            changed = await client.put("/api/reminders/Friday stock", json={**WRITTEN, "timezone": "Europe/Rome"})
            assert (changed.status_code, parses.since_last()) == (200, 1)
            fired = await client.post("/api/reminders/Friday stock/fire")
            assert (fired.status_code, parses.since_last()) == (202, 1)

    async def test_a_name_that_is_a_number_leads_nobody_to_another_one(self, client: httpx.AsyncClient) -> None:
        """A reminder may be named like the number of the next; what is added is what is answered."""
        await client.post("/api/reminders", json={**WRITTEN, "name": "2"})
        added = await client.post("/api/reminders", json=WRITTEN)
        assert (added.json()["id"], added.json()["name"]) == (2, "Friday stock")

    @pytest.mark.parametrize(
        ("values", "status", "sentence"),
        [
            ({"parts": []}, 422, "body.parts"),
            ({"colour": "red"}, 422, "body.colour"),
            ({"parts": [{"text": "a\0b"}]}, 400, UNSTORABLE),
            ({"parts": [{"text": "Hello {you}"}]}, 400, "placeholder {you}"),
            ({"parts": [{"media": "poster.png"}]}, 400, 'The file "poster.png" is not kept with this reminder'),
            ({"targets": ["Group 1"]}, 400, "give exactly one of the three"),
            ({"all": False, "targets": ["Nowhere"]}, 400, 'sees no group "Nowhere"'),
            ({"account": "nobody"}, 400, "There is no account named"),
            ({"timezone": "Mars\0"}, 400, "Mars"),
            ({"schedule": {"at": "2020-01-01T09:00"}}, 400, "lies in the past"),
            ({"schedule": {"at": "0001-01-01T00:00"}, "timezone": "Asia/Tokyo"}, 400, "in the year 1;"),
            ({"schedule": {"at": "9999-12-31T23:59"}, "timezone": "America/New_York"}, 400, "in the year 9999;"),
        ],
    )
    async def test_what_cannot_be_is_a_sentence_and_keeps_nothing(
        self, client: httpx.AsyncClient, values: dict[str, Any], status: int, sentence: str
    ) -> None:
        """bad-input-gets-a-sentence: what was wrong, and where."""
        assert sentence in refused(await client.post("/api/reminders", json={**WRITTEN, **values}), status)
        assert (await client.get("/api/reminders")).json() == []

    async def test_half_a_character_is_refused_with_a_sentence(self, client: httpx.AsyncClient) -> None:
        """As a key and in a text; nothing that the database cannot hold comes near it."""
        half = json.dumps({**WRITTEN, "parts": [{"text": "a\ud800"}]})
        for body, status, sentence in (('{"\\ud800": 1}', 422, "should be a valid string"), (half, 400, UNSTORABLE)):
            answer = await client.post("/api/reminders", content=body, headers={"content-type": "application/json"})
            assert sentence in refused(answer, status)

    async def test_a_name_is_taken_once(self, client: httpx.AsyncClient, reminder: str) -> None:
        """A second one of that name is refused, and the first stays."""
        assert "already" in refused(await client.post("/api/reminders", json=WRITTEN), 400)
        assert len((await client.get("/api/reminders")).json()) == 1

    async def test_files_stay_with_a_reminder_that_is_changed(
        self, client: httpx.AsyncClient, database: Database
    ) -> None:
        """A document carries none; it names those that are kept already."""
        media = parse_reminder({**WRITTEN, "parts": [{"media": "poster.png"}]})
        async with database.transaction() as connection:
            await reminder_changes.add(connection, media, {"poster.png": as_read("poster.png", PNG)})
        changed = {**WRITTEN, "parts": [{"media": "poster.png", "caption": "New"}, {"text": "And this"}]}
        assert (await client.put("/api/reminders/Friday stock", json=changed)).json()["parts"] == 2
        assert await database.pool.fetchval("SELECT count(*) FROM reminder_media") == 1
        other = {**WRITTEN, "parts": [{"media": "other.png"}]}
        assert '"other.png" is not kept' in refused(await client.put("/api/reminders/Friday stock", json=other), 400)

    @pytest.mark.parametrize("name", ["/etc/passwd", "../poster.png", "a/b.png", "a\\b.png", ".env", "a\u202eb.png"])
    async def test_a_name_over_the_api_is_a_plain_one(self, client: httpx.AsyncClient, name: str) -> None:
        """A token never puts a path into a reminder, which the operator's own commands might read later."""
        kept = (await client.put("/api/uploads/poster.png", content=PNG)).json()["sha256"]
        evil = {**WRITTEN, "parts": [{"media": name}], "files": {name: kept}}
        assert "needs a plain name" in refused(await client.post("/api/reminders", json=evil), 400)
        plain = {**WRITTEN, "parts": [{"media": "poster.png"}], "files": {"poster.png": kept}}
        assert (await client.post("/api/reminders", json=plain)).status_code == 201
        assert "needs a plain name" in refused(await client.put("/api/reminders/Friday stock", json=evil), 400)
        unused = {**plain, "files": {**plain["files"], name: kept}}
        assert "needs a plain name" in refused(await client.put("/api/reminders/Friday stock", json=unused), 400)
        shown = (await client.get("/api/reminders/Friday stock")).json()
        assert [part["media"] for part in shown["parts"]] == ["poster.png"]

    async def test_a_path_that_was_stored_earlier_keeps_its_content(
        self, client: httpx.AsyncClient, database: Database
    ) -> None:
        """A reminder of an older version is shown, changed and fired; other content never gets under its path."""
        path = "/home/me/poster.png"
        media = parse_reminder({**WRITTEN, "parts": [{"media": path}]})
        async with database.transaction() as connection:
            await reminder_changes.add(connection, media, {path: as_read(path, PNG)})
        shown = (await client.get("/api/reminders/Friday stock")).json()
        assert (await client.put("/api/reminders/Friday stock", json=shown)).status_code == 200
        other = (await client.put("/api/uploads/a.pdf", content=b"other")).json()["sha256"]
        swapped = {**shown, "files": {path: other}}
        assert "needs a plain name" in refused(await client.put("/api/reminders/Friday stock", json=swapped), 400)
        run = await client.post("/api/reminders/Friday stock/fire")
        assert run.status_code == 202
        assert await database.pool.fetchval("SELECT DISTINCT file_name FROM run_parts") == "poster.png"

    async def test_fired_after_its_hours_it_can_wait_for_the_next(
        self, client: httpx.AsyncClient, database: Database
    ) -> None:
        """Else it is as the reminder says: the run fails with nothing sent, which the answer shows."""
        hours = {"delivery_window_start_hour": 6, "delivery_window_end_hour": 18}
        async with holding(database, datetime(2026, 3, 2, 20, tzinfo=UTC)):
            await client.post("/api/reminders", json={**WRITTEN, **hours})
            late = (await client.post("/api/reminders/Friday stock/fire")).json()
            assert (late["status"], late["counts"]["skipped"]) == ("failed", 3)
            later = (await client.post("/api/reminders/Friday stock/fire", params={"next_window": True})).json()
            assert (later["state"], later["opens_at"]) == ("waiting", "2026-03-03T06:00:00+00:00")

    async def test_a_file_is_sent_ahead_and_named_by_its_hash(
        self, client: httpx.AsyncClient, database: Database
    ) -> None:
        """Kept once by its content; the run carries it, and the reminder keeps it when it is changed."""
        sent = [(await client.put("/api/uploads/poster.png", content=PNG)).json() for _ in range(2)]
        assert sent[0] == sent[1]
        assert (sent[0]["name"], sent[0]["size"], sent[0]["kind"]) == ("poster.png", len(PNG), "picture")
        assert await database.pool.fetchval("SELECT count(*) FROM media") == 1
        written = {**WRITTEN, "parts": [{"media": "poster.png", "caption": "New prices"}]}
        files = {"poster.png": sent[0]["sha256"]}
        added = await client.post("/api/reminders", json={**written, "files": files})
        assert (added.status_code, added.json()["parts"]) == (201, 1)
        assert (await client.put(added.headers["location"], json=written)).status_code == 200
        fired = await client.post(f"{added.headers['location']}/fire")
        assert fired.status_code == 202
        assert await database.pool.fetchval("SELECT encode(media, 'hex') FROM run_parts LIMIT 1") == sent[0]["sha256"]
        gone = {**written, "name": "Monday", "files": {"poster.png": "0" * 64}}
        assert "is no longer here" in refused(await client.post("/api/reminders", json=gone), 400)
        bad = {**written, "name": "Monday", "files": {"poster.png": "0"}}
        assert "body.files" in refused(await client.post("/api/reminders", json=bad), 422)

    @pytest.mark.parametrize(
        ("name", "content", "refusal"),
        [
            ("poster.jpg", b"<script>", (400, "is not a valid picture")),
            ("film.mp4", b"MZ", (400, "is not a valid video")),
            ("price.pdf", b"", (400, "is empty")),
            ("%1b.pdf", b"x", (400, "plain name")),
            ("a%00.pdf", b"x", (400, UNSTORABLE)),
            ("big.pdf", bytes(LARGEST + 1), (413, "A file may have 100 MB; this one is larger.")),
        ],
    )
    async def test_a_file_is_checked_before_it_is_kept(
        self, client: httpx.AsyncClient, database: Database, name: str, content: bytes, refusal: tuple[int, str]
    ) -> None:
        """By size and by what it is, as the page does it."""
        assert refusal[1] in refused(await client.put(f"/api/uploads/{name}", content=content), refusal[0])
        assert await database.pool.fetchval("SELECT count(*) FROM media") == 0

    async def test_a_file_needs_the_scope_before_it_is_listened_to(
        self, client: httpx.AsyncClient, database: Database
    ) -> None:
        """Whoever may only read, or shows nothing, sends no files."""
        shown = {"authorization": f"Bearer {await token(database, 'r', scopes=[TokenScope.READ])}"}
        assert "may not steer" in refused(await client.put("/api/uploads/a.pdf", content=b"x", headers=shown), 403)
        del client.headers["authorization"]
        assert "needs a token" in refused(await client.put("/api/uploads/a.pdf", content=b"x"), 401)

    async def test_the_estimate_says_whether_it_fits(self, client: httpx.AsyncClient, reminder: str) -> None:
        """The contract's shape; asking changes nothing."""
        told = (await client.get(f"{reminder}/estimate")).json()
        assert (told["targets"], told["parts"], told["sends"], told["fits"], told["short_by"]) == (3, 1, 3, True, 0)
        assert (await client.get("/api/runs")).json() == {"runs": [], "next": None}

    @pytest.mark.parametrize("scopes", [[TokenScope.READ], [TokenScope.ADMIN]])
    async def test_firing_needs_the_scope(
        self, client: httpx.AsyncClient, database: Database, reminder: str, scopes: list[TokenScope]
    ) -> None:
        """Neither reading nor administering sends, changes or stops anything."""
        shown = {"authorization": f"Bearer {await token(database, 'other', scopes=scopes)}"}
        for address in (f"{reminder}/fire", "/api/runs/pause", "/api/runs/1/cancel"):
            assert "may not steer" in refused(await client.post(address, headers=shown), 403)
        assert "may not steer" in refused(await client.delete(reminder, headers=shown), 403)
        assert (await client.get("/api/runs")).json()["runs"] == []


class TestRuns:
    async def test_a_run_is_shown_with_its_groups_page_by_page(self, client: httpx.AsyncClient, run: str) -> None:
        """The contract's shape: counts of groups and of messages, and what became of each group."""
        first = (await client.get(run, params={"limit": 2})).json()
        assert (first["reminder"], first["state"], first["status"]) == ("Friday stock", "running", None)
        assert (first["counts"], first["parts"]) == (first["parts"], first["counts"])
        assert (first["counts"]["pending"], first["uploads"]) == (3, 0)
        rest = (await client.get(run, params={"limit": 2, "after": first["next"]})).json()
        assert [one["target"] for one in first["targets"] + rest["targets"]] == ["Group 1", "Group 2", "Group 3"]
        assert rest["next"] is None
        assert first["targets"][0] == {
            "target": "Group 1", "channel": 1, "state": "pending", "error": None, "latency_ms": None,
            "maybe_twice": None,
            "parts": [{"kind": "text", "state": "pending", "attempts": 0, "error": None, "maybe_twice": None}],
        }  # fmt: skip
        assert (await client.get(run, params={"state": "failed"})).json()["targets"] == []
        assert "There is no run 99" in refused(await client.get("/api/runs/99"), 404)

    async def test_a_private_test_is_left_for_the_owner(
        self, client: httpx.AsyncClient, database: Database, reminder: str
    ) -> None:
        """It opens no run; a bot on Discord cannot write to itself, and the sentence says what to do instead."""
        asked = await client.post(f"{reminder}/test-privately")
        assert (asked.status_code, asked.json()["kind"]) == (202, "test_privately")
        assert (await client.get("/api/runs")).json()["runs"] == []
        await database.pool.execute("UPDATE accounts SET platform = 'discord'")
        sentence = refused(await client.post(f"{reminder}/test-privately"), 400)
        assert "lets none write to itself" in sentence

    async def test_what_is_left_becomes_a_reminder_for_another_account(
        self, client: httpx.AsyncClient, database: Database, run: str
    ) -> None:
        """It waits for somebody to fire it; groups that the other account is not in are named."""
        await database.pool.execute(
            "INSERT INTO accounts (name, platform, standing) VALUES ('other', 'telegram', 'normal')"
        )
        await database.pool.execute(
            "INSERT INTO sights (account, channel, may_post) VALUES (2, 1, true), (2, 2, false)"
        )
        wanted = {"account": "other"}
        assert "Pause it first" in refused(await client.post(f"{run}/remainder", json=wanted), 409)
        await client.post(f"{run}/cancel")
        made = await client.post(f"{run}/remainder", json=wanted)
        assert (made.status_code, made.headers["location"]) == (201, f"/api/reminders/{made.json()['id']}")
        assert (made.json()["name"], made.json()["targets"]) == ("Friday stock (rest of run 1)", 1)
        assert {one["target"]: one["why"] for one in made.json()["left_out"]} == {
            "Group 2": '"other" may not write to this group.', "Group 3": '"other" is not in this group.',
        }  # fmt: skip
        kept = (await client.get(made.headers["location"])).json()
        assert (kept["account"], kept["targets"], "schedule" in kept) == ("other", ["1"], False)
        assert "It was left to the reminder" in refused(await client.post(f"{run}/remainder", json=wanted), 409)

    async def test_runs_come_newest_first_in_pages(self, client: httpx.AsyncClient, reminder: str) -> None:
        """Each once; of one account, and open or ended, where that is asked for."""
        made = [(await client.post(f"{reminder}/test", json={"target": "Group 2"})).json() for _ in range(3)]
        assert [one["test"] for one in made] == [True] * 3
        await client.post(f"/api/runs/{made[1]['id']}/cancel")
        first = (await client.get("/api/runs", params={"limit": 2, "account": "shop"})).json()
        rest = (await client.get("/api/runs", params={"limit": 2, "before": first["next"]})).json()
        seen = [one["id"] for one in first["runs"] + rest["runs"]]
        assert (seen, rest["next"]) == (sorted((one["id"] for one in made), reverse=True), None)
        ended = (await client.get("/api/runs", params={"ended": True})).json()["runs"]
        assert [(one["id"], one["status"]) for one in ended] == [(made[1]["id"], "cancelled")]
        assert "nobody" in refused(await client.get("/api/runs", params={"account": "nobody"}), 404)

    async def test_a_test_goes_to_one_of_its_groups(self, client: httpx.AsyncClient, reminder: str) -> None:
        """And to no other, known or not."""
        answer = await client.post(f"{reminder}/test", json={"target": "2"})
        shown = (await client.get(answer.headers["location"])).json()
        assert [one["target"] for one in shown["targets"]] == ["Group 2"]
        sentence = refused(await client.post(f"{reminder}/test", json={"target": "Nowhere"}), 400)
        assert 'no group called "Nowhere"' in sentence

    async def test_a_run_is_paused_resumed_and_cancelled(self, client: httpx.AsyncClient, run: str) -> None:
        """Each answers with how it stands then, and a second time with why not."""
        assert (await client.post(f"{run}/pause")).json()["state"] == "paused"
        assert "paused already" in refused(await client.post(f"{run}/pause"), 409)
        assert (await client.post(f"{run}/resume")).json()["state"] == "running"
        assert "is not paused" in refused(await client.post(f"{run}/resume"), 409)
        ended = (await client.post(f"{run}/cancel")).json()
        assert (ended["state"], ended["status"], ended["counts"]["skipped"]) == ("ended", "cancelled", 3)
        assert "has ended" in refused(await client.post(f"{run}/cancel"), 409)
        assert "There is no run 99" in refused(await client.post("/api/runs/99/pause"), 404)

    async def test_every_run_is_stopped_at_once(self, client: httpx.AsyncClient, reminder: str, run: str) -> None:
        """Nothing is fired meanwhile; all of them go on together."""
        number = int(run.rpartition("/")[2])
        assert (await client.post("/api/runs/pause")).json() == {"changed": [number]}
        assert "Every run is paused" in refused(await client.post(f"{reminder}/fire"), 409)
        assert (await client.post("/api/runs/resume")).json() == {"changed": [number]}
        assert (await client.post(f"{reminder}/fire")).status_code == 202

    async def test_what_nobody_knows_is_settled(self, client: httpx.AsyncClient, database: Database, run: str) -> None:
        """Of one group or of all; what is not unknown stays as it is."""
        assert "is unknown" in refused(await client.post(f"{run}/resolve", json={"as": "sent"}), 409)
        await database.pool.execute(
            "UPDATE run_parts SET state = 'unknown', claimed_at = clock_now(), attempts = 1;"
            "UPDATE runs SET state = 'needs_attention'"
        )
        one = (await client.post(f"{run}/resolve", json={"as": "skip", "targets": ["Group 1"]})).json()
        assert (one["settled"], one["run"]["counts"]["skipped"], one["run"]["counts"]["unknown"]) == (1, 1, 2)
        assert "goes to no group" in refused(
            await client.post(f"{run}/resolve", json={"as": "sent", "targets": ["Nowhere"]}), 400
        )
        rest = (await client.post(f"{run}/resolve", json={"as": "sent"})).json()
        assert (rest["settled"], rest["run"]["state"], rest["run"]["counts"]["sent"]) == (2, "ended", 2)
        assert "body.as" in refused(await client.post(f"{run}/resolve", json={"as": "lost"}), 422)
