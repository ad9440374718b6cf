"""Reminders and runs on the pages, over real HTTP: the form, the review, files, and what is done to runs."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import httpx
import pytest

from tests.held import holding
from tests.reminders.parse_count import counted_parses
from tests.web.hostile_words import HOSTILE
from tests.web.refusal_sentences import UNSTORABLE
from tests.web.reminder_client import PNG, client, filled
from tests.web.visiting import htmx
from tidegate.database.pool import Database

__all__ = ["client"]  # a fixture


class TestWriting:
    async def test_a_review_says_whether_it_fits_and_keeps_nothing(
        self, client: httpx.AsyncClient, database: Database
    ) -> None:
        """Groups, sends, first and last; the text as the first group gets it. Only keeping it keeps it."""
        answer = await client.post("/reminders/review", data=filled(client))
        assert answer.status_code == 200
        said = "Only when sent manually, to all 3 groups from"
        for shown in ("Can be delivered in time", said, "3 in all", "Good morning Group 1", "Save reminder"):
            assert shown in answer.text
        assert await database.pool.fetchval("SELECT count(*) FROM reminders") == 0
        assert await database.pool.fetchval("SELECT count(*) FROM events WHERE kind LIKE 'reminder%'") == 0
        saved = await client.post("/reminders/save", data=filled(client))
        assert saved.headers["location"] == "/reminders?saved=2"
        assert "Saved" in (await client.get("/reminders?saved=2")).text
        assert "Friday stock" in (await client.get("/reminders")).text

    async def test_each_request_parses_the_document_once(self, client: httpx.AsyncClient) -> None:
        """Reviewing, saving and firing each take the reminder in once; nothing on the way reads it again."""
        with counted_parses() as parses:
            for path in ("/reminders/review", "/reminders/save", "/reminders/fire"):
                answer = await client.post(path, data=filled(client, reminder="Friday stock" * path.endswith("fire")))
                assert (answer.is_error, parses.since_last()) == (False, 1), (path, answer.text)

    async def test_what_does_not_fit_is_said_beforehand(self, client: httpx.AsyncClient, database: Database) -> None:
        """One send a minute into an hour for very many groups."""
        await database.pool.execute(
            "INSERT INTO channels (platform, number, title, kind) "
            "SELECT 'telegram', n, 'More ' || n, 'group' FROM generate_series(10, 3000) n;"
            "INSERT INTO sights (account, channel, may_post) SELECT 1, id, true FROM channels WHERE number >= 10"
        )
        asked = filled(client, fires="repeat", every="day", time="09:00", start_hour="9", end_hour="10")
        answer = await client.post("/reminders/review", data=asked)
        assert "Cannot be delivered in time" in answer.text
        assert "would be left over" in answer.text

    @pytest.mark.parametrize(
        ("values", "sentence"),
        [
            ({"name": " "}, "Give the reminder a name."),
            ({"text": ""}, "Write a message, or attach a file."),
            ({"to": "named"}, "Select groups, or choose a list or all groups."),
            ({"to": "list"}, "Choose a list."),
            ({"fires": "once"}, "Choose a date and a time."),
            ({"fires": "repeat", "every": "week"}, "Choose the day of the week."),
            ({"fires": "repeat", "every": "month"}, "Choose the day of the month."),
            ({"to": "named", "group": "Nowhere"}, "sees no group"),
            ({"fires": "cron", "cron": "soon"}, "A cron line has five fields"),
            ({"fires": "once", "at": "2020-01-01T09:00"}, "lies in the past"),
            ({"timezone": "Mars"}, "Mars"),
            ({"start_hour": "9", "end_hour": "9"}, "9"),
            ({"file": "a.jpg", "sha256": "00"}, "no longer here"),
            ({"account": "nobody"}, "There is no account named"),
        ],
    )
    async def test_what_cannot_be_is_said_and_everything_typed_stays(
        self, client: httpx.AsyncClient, values: dict[str, str], sentence: str
    ) -> None:
        """The form comes back with its sentence and its inputs."""
        answer = await client.post("/reminders/review", data=filled(client, **values))
        assert answer.status_code == 200
        [trouble] = re.findall(r'class="trouble" role="alert">([^<]*)<', answer.text)
        for field in re.findall(r'<a href="#([^"]+)">Go to the field', answer.text):
            assert re.search(rf'id="{field}"[^>]* aria-invalid="true" aria-describedby="wrong', answer.text), field
        assert sentence in trouble.replace("&#34;", '"')
        assert 'name="timezone"' in answer.text

    async def test_editing_has_the_same_inputs(self, client: httpx.AsyncClient, database: Database) -> None:
        """Filled with what is kept; what is changed replaces it."""
        named = filled(client, to="named", group=["Group 2", "Group 3"], fires="repeat", every="week", weekday="FRI")
        await client.post("/reminders/save", data=named)
        page = (await client.get("/reminders/1/edit")).text
        assert 'value="Friday stock"' in page
        assert page.count('name="group" value="Group 2" checked') == 1
        assert 'name="group" value="Group 1" checked' not in page
        assert re.search(r'<option value="week" selected>week</option>', page)
        again = await client.post("/reminders/form", data=filled(client, name="changed"))
        assert 'value="changed"' in again.text
        await client.post("/reminders/save", data=filled(client, reminder="1", name="Monday stock"))
        assert await database.pool.fetch("SELECT name FROM reminders") == [("Monday stock",)]

    async def test_hostile_groups_and_names_are_shown_harmlessly(
        self, client: httpx.AsyncClient, database: Database
    ) -> None:
        """In the list of groups, the review, the reminders and the runs."""
        await database.pool.execute("UPDATE channels SET title = $1 WHERE number = 1", HOSTILE)
        await client.post("/reminders/save", data=filled(client, name=HOSTILE[:90]))
        fired = await client.post("/reminders/fire", data=filled(client, reminder="1"))
        for path in ("/reminders", "/reminders/new", "/reminders/1/edit", "/reminders/1/test", "/activity",
                     fired.headers["location"]):  # fmt: skip
            text = (await client.get(path)).text
            assert "<script>" not in text, path
            assert "&lt;script&gt;alert" in text, path


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("/reminders/review", {"name": "a\x00"}),
        ("/reminders/review", {"account": "a\x00"}),
        ("/reminders/review", {"text": "a\x00"}),
        ("/reminders/review", {"to": "named", "others": "a\x00"}),
        ("/reminders/save", {"reminder": "a\x00"}),
        ("/reminders/fire", {"reminder": "a\x00"}),
        ("/settings/tokens", {"name": "a\x00", "scope": "read"}),
        ("/accounts/pause", {"name": "a\x00"}),
    ],
)
async def test_a_character_that_cannot_be_stored_is_refused_in_one_sentence(
    client: httpx.AsyncClient, path: str, values: dict[str, str]
) -> None:
    """NUL, wherever it is typed, gets the same words and never "something went wrong"."""
    answer = await client.post(path, data=filled(client, **values))
    assert (answer.status_code in (200, 400), UNSTORABLE in answer.text) == (True, True), answer.text


@pytest.mark.parametrize("path", ["/channels?q=%00", "/messages?q=%00", "/reminders/groups?account=%00"])
async def test_nor_is_it_looked_for(client: httpx.AsyncClient, path: str) -> None:
    """The same sentence for addresses."""
    answer = await client.get(path)
    assert (answer.status_code, UNSTORABLE in answer.text) == (400, True)


class TestWhatTheScreenSays:
    @pytest.mark.parametrize("path", ["/reminders/review", "/reminders/save"])
    async def test_all_chosen_and_one_ticked_is_refused(
        self, client: httpx.AsyncClient, database: Database, path: str
    ) -> None:
        """Without scripts as well: a sentence, everything as it was typed, and nothing is kept."""
        answer = await client.post(path, data=filled(client, to="all", group="Group 2", fires="repeat"))
        assert "Group 2" in answer.text
        assert "to send it to them alone" in answer.text
        answer = await client.post(path, data=filled(client, to="all", fires="repeat", at="2026-12-01T09:00"))
        assert "the date 2026-12-01 09:00" in answer.text
        assert await database.pool.fetchval("SELECT count(*) FROM reminders") == 0

    async def test_the_review_names_who_gets_it_and_when(self, client: httpx.AsyncClient) -> None:
        """Each group by name, all groups as all, and the firing in words."""
        named = filled(client, to="named", group=["Group 2"], fires="repeat", every="week", weekday="FRI")
        text = (await client.post("/reminders/review", data=named)).text
        assert ("Group 2" in text, "Group 1" in text, "Every Friday at 09:00" in text) == (True, False, True)
        text = (await client.post("/reminders/review", data=filled(client))).text
        assert "to all 3 groups from" in text
        assert all(f"Group {number}" in text for number in (1, 2, 3))
        assert "Only when sent manually" in text

    async def test_fired_after_its_hours_it_asks_when_to_send(
        self, client: httpx.AsyncClient, database: Database
    ) -> None:
        """Nothing is sent by the first click. A run waits for the next hours, or is sent now, as the person says."""
        async with holding(database, datetime(2026, 3, 2, 20, tzinfo=UTC)):
            await client.post("/reminders/save", data=filled(client, start_hour="6", end_hour="18"))
            asked = await client.post("/reminders/fire", data=filled(client, reminder="1"))
            assert asked.headers["location"] == "/reminders/1/fire"
            assert await database.pool.fetchval("SELECT count(*) FROM runs") == 0
            text = (await client.get("/reminders/1/fire")).text
            for shown in ("06:00 to 18:00, UTC", "3 groups", "Send at 06:00, Tuesday", "Send now anyway", "Cancel"):
                assert shown in text
            fired = await client.post("/reminders/fire", data=filled(client, reminder="1", next_window="true"))
            assert fired.headers["location"] == "/activity/1"
            run = await database.pool.fetchrow("SELECT state, opens_at FROM runs")
            assert (run["state"], run["opens_at"]) == ("waiting", datetime(2026, 3, 3, 6, tzinfo=UTC))
            assert "It waits behind" in (await client.get("/reminders/1/fire")).text
            fired = await client.post("/reminders/fire", data=filled(client, reminder="1", any_hour="true"))
            assert await database.pool.fetchval("SELECT state FROM runs WHERE id = 2") == "running"
            assert fired.headers["location"] == "/activity/2"

    async def test_a_reminder_is_turned_off_and_on(self, client: httpx.AsyncClient, database: Database) -> None:
        """Off it is never due; on it is due by its schedule again. The list says both, with the schedule in words."""
        token = htmx(client.headers["x-for-tests"])
        await client.post("/reminders/save", data=filled(client, fires="repeat", every="day", time="09:00"))
        due = "SELECT due_at IS NOT NULL FROM reminders"
        for on in (False, True):
            said = await client.post("/reminders/switch", data={"reminder": "1", "on": str(on).lower()}, headers=token)
            assert said.status_code == 204
            assert await database.pool.fetchval(due) is on
            text = (await client.get("/reminders")).text
            assert "Every day at 09:00" in text
            assert f'aria-checked="{str(on).lower()}"' in text
            assert ("Next send" in text) is on
            again = await client.post("/reminders/switch", data={"reminder": "1", "on": str(on).lower()}, headers=token)
            assert again.status_code == 409
        kinds = await database.pool.fetch("SELECT kind FROM events WHERE kind LIKE 'reminder%abled' ORDER BY id")
        assert [row["kind"] for row in kinds] == ["reminder.disabled", "reminder.enabled"]

    async def test_a_copy_has_everything_but_the_name(self, client: httpx.AsyncClient, database: Database) -> None:
        """Nothing is saved by asking for one; saved, it is a second reminder."""
        await client.post("/reminders/save", data=filled(client))
        text = (await client.get("/reminders/1/duplicate")).text
        assert 'value="Friday stock (copy)"' in text
        assert "Good morning {group}" in text
        assert 'name="reminder" value=""' in text
        assert await database.pool.fetchval("SELECT count(*) FROM reminders") == 1


class TestFiles:
    async def test_a_picture_is_sent_ahead_and_goes_with_a_message(
        self, client: httpx.AsyncClient, database: Database
    ) -> None:
        """Kept by its content, named in the form by its hash, and there when the reminder is edited."""
        token = client.headers["x-for-tests"]
        sent = (await client.put("/uploads/poster.png", content=PNG, headers=htmx(token))).json()
        assert (sent["name"], sent["size"], sent["kind"]) == ("poster.png", len(PNG), "picture")
        values = filled(client, file="poster.png", sha256=sent["sha256"])
        assert "poster.png" in (await client.post("/reminders/review", data=values)).text
        await client.post("/reminders/save", data=values)
        assert f'name="sha256" value="{sent["sha256"]}"' in (await client.get("/reminders/Friday stock/edit")).text

    @pytest.mark.parametrize(
        ("name", "content", "sentence"),
        [
            ("poster.jpg", b"<script>", "is not a valid picture"),
            ("film.mp4", b"MZ", "is not a valid video"),
            ("empty.pdf", b"", "is empty"),
            ("a%0Ab.pdf", b"x", "plain name"),
        ],
    )
    async def test_a_file_is_checked_before_it_is_kept(
        self, client: httpx.AsyncClient, database: Database, name: str, content: bytes, sentence: str
    ) -> None:
        """By its first bytes, not by what it says it is."""
        answer = await client.put(f"/uploads/{name}", content=content, headers=htmx(client.headers["x-for-tests"]))
        assert (answer.status_code, sentence in answer.json()["detail"]) == (400, True)
        assert await database.pool.fetchval("SELECT count(*) FROM media") == 0

    @pytest.mark.parametrize("path", ["/reminders/review", "/reminders/save"])
    @pytest.mark.parametrize("name", ["/etc/passwd", "../poster.png", "a\\b.png", ".env"])
    async def test_a_form_names_files_by_plain_names(
        self, client: httpx.AsyncClient, database: Database, path: str, name: str
    ) -> None:
        """A form that was tampered with puts no path into a reminder."""
        token = client.headers["x-for-tests"]
        sent = (await client.put("/uploads/poster.png", content=PNG, headers=htmx(token))).json()
        answer = await client.post(path, data=filled(client, file=name, sha256=sent["sha256"]))
        assert "The file needs a plain name" in answer.text
        assert await database.pool.fetchval("SELECT count(*) FROM reminders") == 0

    async def test_nobody_uploads_without_signing_in(self, client: httpx.AsyncClient, database: Database) -> None:
        """Nor from another site."""
        assert (await client.put("/uploads/a.pdf", content=b"x", headers={"hx-request": "true"})).status_code == 403
        client.cookies.clear()
        token = client.headers["x-for-tests"]
        assert (await client.put("/uploads/a.pdf", content=b"x", headers=htmx(token))).headers["hx-redirect"]
        assert await database.pool.fetchval("SELECT count(*) FROM media") == 0


class TestRuns:
    async def test_a_run_is_fired_paused_resumed_and_cancelled(
        self, client: httpx.AsyncClient, database: Database
    ) -> None:
        """Each says what it did, and a second time why not; the page shows counts and every group."""
        token = client.headers["x-for-tests"]
        await client.post("/reminders/save", data=filled(client))
        fired = await client.post("/reminders/fire", data={"reminder": "1"}, headers=htmx(token))
        assert fired.headers["hx-redirect"] == "/activity/1"
        page = (await client.get("/activity/1")).text
        for shown in ("0 of 3 groups delivered", "Waiting 3", "Group 1", "Good morning Group 1", "Pause"):
            assert shown in page
        assert (await client.post("/activity/1/pause", headers=htmx(token))).status_code == 204
        again = await client.post("/activity/1/pause", headers=htmx(token))
        assert (again.status_code // 100, "paused already" in again.json()["detail"]) == (4, True)
        assert "Resume" in (await client.get("/activity/1/now")).text
        assert (await client.post("/activity/1/resume", headers=htmx(token))).status_code == 204
        assert (await client.post("/activity/1/cancel", headers=htmx(token))).status_code == 204
        assert "Cancelled" in (await client.get("/activity")).text
        assert "No groups in this state" in (await client.get("/activity/1?state=failed")).text

    async def test_older_runs_are_a_page_away(self, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
        """The newest first, the others by a link, until there are none; news load the page that is shown."""
        monkeypatch.setattr("tidegate.web.pages.runs._RUNS", 2)
        token = client.headers["x-for-tests"]
        await client.post("/reminders/save", data=filled(client))
        for run in (1, 2, 3):
            await client.post("/reminders/fire", data={"reminder": "1"}, headers=htmx(token))
            await client.post(f"/activity/{run}/cancel", headers=htmx(token))
        newest = (await client.get("/activity")).text
        assert re.findall(r"no. (\d)<", newest) == ["3", "2"]
        assert "/activity?before=2" in newest
        older = (await client.get("/activity?before=2")).text
        assert (re.findall(r"no. (\d)<", older), "Older sends" in older) == (["1"], False)
        assert "/activity/list?before=2" in older
        assert "No older sends" in (await client.get("/activity/list?before=1")).text

    async def test_every_run_can_be_stopped_at_once(self, client: httpx.AsyncClient) -> None:
        """And go on again; meanwhile nothing is fired."""
        token = client.headers["x-for-tests"]
        await client.post("/reminders/save", data=filled(client))
        assert (await client.post("/activity/pause-all", headers=htmx(token))).status_code == 204
        overview = (await client.get("/")).text
        assert ("All sending is paused" in overview, "All good" in overview) == (True, False)
        assert "All sending is paused" in (await client.get("/activity")).text
        refused = await client.post("/reminders/fire", data={"reminder": "1"}, headers=htmx(token))
        assert refused.status_code == 409
        assert (await client.post("/activity/resume-all", headers=htmx(token))).status_code == 204
        assert "Pause all sending" in (await client.get("/activity/list")).text

    async def test_unknown_ones_are_settled_by_a_person(self, client: httpx.AsyncClient, database: Database) -> None:
        """What nobody knows is said, counted, and settled with one button."""
        token = client.headers["x-for-tests"]
        await client.post("/reminders/save", data=filled(client))
        await client.post("/reminders/test", data={"reminder": "1", "group": "Group 2"}, headers=htmx(token))
        await database.pool.execute(
            "UPDATE run_parts SET state = 'unknown', claimed_at = clock_now() - interval '1 hour', attempts = 1;"
            "UPDATE runs SET state = 'needs_attention'"
        )
        assert "Delivery not confirmed" in (await client.get("/activity/1")).text
        assert "is not confirmed" in (await client.get("/")).text
        done = await client.post("/activity/1/resolve", data={"resolution": "sent"}, headers=htmx(token))
        assert done.status_code == 204
        page = (await client.get("/activity/1")).text
        assert "Completed" in page
        assert "Delivery not confirmed" not in page

    async def test_what_is_left_is_sent_from_another_account(
        self, client: httpx.AsyncClient, database: Database
    ) -> None:
        """The run's page offers it where groups are left, and the next one names who is not in it."""
        await client.post("/reminders/save", data=filled(client))
        await client.post("/reminders/fire", data=filled(client, reminder="1"))
        assert "Send the remainder" not in (await client.get("/activity/1")).text
        await client.post("/activity/1/cancel", data=filled(client))
        await database.pool.execute(
            "INSERT INTO accounts (name, platform, standing) VALUES ('other', 'telegram', 'normal')"
        )
        await database.pool.execute("INSERT INTO sights (account, channel, may_post) VALUES (2, 1, true)")
        shown = (await client.get("/activity/1")).text
        assert "Send the remainder from another account" in shown
        made = (await client.post("/activity/1/remainder", data=filled(client, account="other"))).text
        assert "It goes to 1 group from" in made
        assert "is not in this group" in made
        assert "rest of run 1" in (await client.get("/reminders")).text

        shown = (await client.get("/activity/1")).text
        assert 'They are in the reminder <a href="/reminders/2/fire">' in shown
        assert "2 groups got nothing and are in no other reminder" in shown
        await database.pool.execute("INSERT INTO sights (account, channel, may_post) VALUES (2, 2, true), (2, 3, true)")
        await client.post("/activity/1/remainder", data=filled(client, account="other"))
        shown = (await client.get("/activity/1")).text
        assert ("/reminders/3/fire" in shown, "Send the remainder" in shown) == (True, False)
        again = await client.post("/activity/1/remainder", data=filled(client, account="other"))
        assert again.status_code == 409
        assert "has what is left of it already" in again.text

    async def test_a_reminder_is_forgotten_and_its_runs_stay(self, client: httpx.AsyncClient) -> None:
        """Removing one is asked before, and says so."""
        token = client.headers["x-for-tests"]
        await client.post("/reminders/save", data=filled(client))
        await client.post("/reminders/fire", data={"reminder": "1"}, headers=htmx(token))
        gone = await client.post("/reminders/remove", data={"reminder": "1"}, headers=htmx(token))
        assert gone.status_code == 204
        assert "No reminders yet" in (await client.get("/reminders/list")).text
        assert "Friday stock" in (await client.get("/activity")).text

    async def test_failures_come_first_are_exported_and_retried(
        self, client: httpx.AsyncClient, database: Database
    ) -> None:
        """The last group failed: it is the first row, a tab of its own, and a row of the CSV that runs no formula."""
        await database.pool.execute("UPDATE channels SET title = '=cmd|A1' WHERE number = 3")
        await client.post("/reminders/save", data=filled(client, text="Good morning"))
        await client.post("/reminders/fire", data=filled(client, reminder="1"))
        await database.pool.execute(
            "UPDATE run_parts SET state = CASE WHEN target = (SELECT max(target) FROM run_parts) THEN 'failed' "
            "ELSE 'sent' END, error = 'Refused.', attempts = 1, claimed_at = clock_now(), "
            "sent_at = clock_now(), message = '1';"
            "UPDATE runs SET state = 'ended', status = 'partial', ended_at = clock_now(), "
            """counts = '{"sent": 2, "failed": 1}'"""
        )
        text = (await client.get("/activity/1")).text
        assert re.findall(r'<th scope="row"><bdi class="name">([^<]*)<', text)[0] == "Group 2"
        for shown in ("Partly delivered", "Failed 1", "Sent 2", "2 of 3 groups delivered", "Retry 1 group"):
            assert shown in text
        answer = await client.get("/activity/1/groups.csv")
        assert (answer.headers["content-type"], "attachment" in answer.headers["content-disposition"]) == (
            "text/csv; charset=utf-8", True,
        )  # fmt: skip
        assert '"Group 2","2","failed","Refused."' in answer.text
        assert '"\'=cmd|A1","3","sent"' in answer.text
        retried = await client.post("/activity/1/retry", data=filled(client))
        asked = await client.get(retried.headers["location"])
        assert "to 1 group now?" in asked.text
        assert await database.pool.fetchval("SELECT count(*) FROM runs") == 1
