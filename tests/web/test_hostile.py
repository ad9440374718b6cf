"""What strangers and accidents do to the web floor, over real HTTP: numbers nobody holds, bodies, faults, outages."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest

from tests.web.test_reminders import GROUPS, filled
from tests.web.test_web import answering
from tests.web.visiting import HTML, htmx, sign_in, visiting
from tidegate.store import sign_ins
from tidegate.store.database import Database
from tidegate.web import make_app
from tidegate.web.edge import HEADERS, LONGEST_BODY


@pytest.fixture
async def client(database: Database) -> AsyncIterator[httpx.AsyncClient]:
    """Somebody who is signed in, with an account that writes to three groups."""
    await database.pool.execute(GROUPS)
    async with visiting(database) as opened:
        opened.headers["x-for-tests"] = await sign_in(opened, database)
        yield opened


class TestInput:
    @pytest.mark.parametrize("number", [str(2**63), "9" * 30, "-1", "x"])
    async def test_a_number_that_nobody_holds_is_refused(self, client: httpx.AsyncClient, number: str) -> None:
        """Neither the database nor the page breaks on it."""
        for path in (f"/activity/{number}", f"/activity/{number}/now", f"/activity/1?after={number}",
                     f"/accounts?after={number}", f"/accounts/list?after={number}", f"/archives/{number}",
                     f"/channels/{number}", f"/channels/{number}/messages"):  # fmt: skip
            assert (await client.get(path)).status_code == 422, path
        for action in ("pause", "resume", "cancel"):
            answer = await client.post(f"/activity/{number}/{action}", headers=htmx(client.headers["x-for-tests"]))
            assert answer.status_code == 422, action

    async def test_a_form_that_does_not_belong_together_is_shown_again(self, client: httpx.AsyncClient) -> None:
        """Messages without their other half lose nothing that was typed."""
        values = filled(client, text=["first", "second"])
        answer = await client.post("/reminders/review", data=values)
        assert (answer.status_code, "do not belong together" in answer.text) == (200, True)
        assert "second" in answer.text
        assert (await client.post("/reminders/form", data=values)).status_code == 200

    async def test_what_can_no_longer_be_kept_is_shown_again(self, client: httpx.AsyncClient) -> None:
        """Somebody took the name between review and keeping: the sentence, and everything that was typed."""
        await client.post("/reminders/save", data=filled(client))
        answer = await client.post("/reminders/save", data=filled(client, text="typed for long"))
        assert (answer.status_code, 'role="alert"' in answer.text) == (200, True)
        assert "typed for long" in answer.text

    @pytest.mark.parametrize("path", ["/api/reminders/uploads", "/api/reminders/uploads/x/test", "/x/uploads/sign-in"])
    async def test_only_an_upload_may_be_long(self, client: httpx.AsyncClient, path: str) -> None:
        """Whoever names something "uploads" sends no longer body than anybody else."""
        assert (await client.put(path, content=b"x" * (LONGEST_BODY + 1))).status_code == 413

    async def test_who_guesses_a_link_costs_no_hash(self, client: httpx.AsyncClient, database: Database) -> None:
        """The link is looked at before the password, which takes a core and 64 MiB to hash."""
        guessed = await client.post("/sign-in/once", data={"once": "guessed", "password": "short"})
        assert (guessed.status_code, "was used already or is too old" in guessed.text) == (403, True)
        async with database.transaction() as connection:
            secret = await sign_ins.make_link(connection)
        known = await client.post("/sign-in/once", data={"once": secret, "password": "short"})
        assert (known.status_code, "must have 10" in known.text) == (400, True)


class TestTrouble:
    async def test_our_own_fault_has_the_same_headers(self, database: Database) -> None:
        """What a page may load and who may keep it holds for every answer, also for one nobody meant to give."""
        app = make_app(database)

        @app.get("/broken")
        async def broken() -> None:
            raise ValueError("hunter2")

        async with answering(app) as opened:
            answer = await opened.get("/broken", headers=HTML)
        assert (answer.status_code, "hunter2" in answer.text) == (500, False)
        assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS
        assert answer.headers["cache-control"] == "no-store"

    async def test_without_its_database_it_says_so(self, client: httpx.AsyncClient, database: Database) -> None:
        """A page for people, a problem for programs, and when to come back; no traceback."""
        await database.pool.close()
        for path in ("/", "/channels", "/reminders/new", "/sign-in"):
            answer = await client.get(path)
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
            assert "<p>The database does not answer right now. Try again in a moment.</p>" in answer.text
        answer = await client.get("/api/search?q=x", headers={"authorization": "Bearer x"})
        assert (answer.status_code, answer.headers["content-type"]) == (503, "application/problem+json")
        part = await client.get("/overview/feed", headers={"hx-request": "true"})
        assert part.json()["detail"].startswith("The database does not answer")
