"""What strangers and accidents do to the web server, over real HTTP: input, faults, outages, prefixes, scopes."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator

import httpx
import pytest

from tests.web.api_client import token
from tests.web.operator_password import PASSWORD, set_password
from tests.web.reminder_client import GROUPS, filled
from tests.web.visiting import HTML, htmx, sign_in, visiting
from tests.web.web_client import answering
from tidegate.access.queries import sign_in_links
from tidegate.access.queries.tokens import TokenScope
from tidegate.database.pool import Database
from tidegate.reminders.queries import target_lists
from tidegate.web import make_app
from tidegate.web.menu import NAVIGATION
from tidegate.web.openapi import document
from tidegate.web.server.request_checks import LONGEST_BODY, MOST_HEADERS
from tidegate.web.server.security_headers import HEADERS

TURNS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
TURNING = "\u2069\u200f\u202eשלם [exe.]\u2067"
KEPT_APART = "\u2068שלם [exe.]\u2069"


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

    async def test_a_head_has_only_so_many_lines(self, client: httpx.AsyncClient) -> None:
        """Beyond a hundred it is refused before anything is looked up."""
        for path in ("/channels", "/api/channels"):
            many = await client.get(path, headers=[(f"x-{number}", "x") for number in range(MOST_HEADERS)])
            assert (many.status_code, "may have 100 headers" in many.text) == (431, True)

    async def test_who_guesses_a_link_costs_no_hash(self, client: httpx.AsyncClient, database: Database) -> None:
        """The link is looked at before the password, which takes a core and 64 MiB to hash."""
        guessed = await client.post("/sign-in/once", data={"once": "guessed", "password": "short"})
        assert (guessed.status_code, "was used already or is too old" in guessed.text) == (403, True)
        async with database.transaction() as connection:
            secret = await sign_in_links.make_link(connection)
        known = await client.post("/sign-in/once", data={"once": secret, "password": "short"})
        assert (known.status_code, "must have 10" in known.text) == (400, True)

    async def test_an_address_made_up_for_a_proxy_breaks_nothing(self, database: Database) -> None:
        """Of what a proxy passes on only the address counts that it added itself, not those that a visitor claims."""
        await set_password(database)
        made_up = "".join(chr(33 + number * number % 89) for number in range(10_000)).replace(",", "")
        async with visiting(database, TIDEGATE_WEB_PROXIES="127.0.0.1") as client:
            for claimed in (made_up, "203.0.113.9, 198.51.100.7", "192.0.2.1, 198.51.100.7"):
                wrong = await client.post("/sign-in", data={"password": "x"}, headers={"x-forwarded-for": claimed})
                assert wrong.status_code == 403
        counted = await database.pool.fetch("SELECT client, count(*) FROM sign_in_tries GROUP BY 1 ORDER BY 2")
        assert [(row["client"], row["count"]) for row in counted] == [("127.0.0.1", 1), ("198.51.100.7", 2)]


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


class TestNames:
    async def test_a_name_without_a_visible_sign_can_be_told(
        self, client: httpx.AsyncClient, database: Database
    ) -> None:
        """Marks and blanks alone would be a link that nobody sees or can press."""
        await database.pool.execute("UPDATE channels SET title = E'\\u200b\\u202e \\u2060' WHERE number = 1")
        assert '<bdi class="name">(no visible name)</bdi>' in (await client.get("/channels")).text

    async def test_a_button_says_what_it_changes(self, client: httpx.AsyncClient) -> None:
        """To those who hear one button after the other, without the row around it."""
        for said in ("Pause", "Refresh channels"):
            button = rf'<button[^>]*>{said}<span class="unseen"> shop</span></button>'
            assert re.search(button, (await client.get("/accounts")).text)

    async def test_a_name_turns_no_sentence_around(self, client: httpx.AsyncClient, database: Database) -> None:
        """What is said after a change, titles and refusals read on as they were meant, whatever a name has in it."""
        token = client.headers["x-for-tests"]
        async with database.transaction() as connection:
            number = await target_lists.add(connection, "plain")
            await connection.execute("UPDATE target_lists SET name = $1", TURNING)
            await connection.execute("UPDATE accounts SET name = $1", TURNING)
            await connection.execute("UPDATE channels SET title = $1", TURNING)
        paused = await client.post("/accounts/pause", data={"name": TURNING}, headers=htmx(token))
        assert (
            json.loads(paused.headers["tidegate-said"])
            == f'"{KEPT_APART}" is paused: no further request is made for it.'
        )
        refused = await client.post("/accounts/pause", data={"name": f"{TURNING}?"}, headers=htmx(token))
        assert refused.json()["detail"].startswith('There is no account named "\u2068שלם [exe.]?\u2069"; it may')
        shown = await client.get("/reminders/\u202e\u05d0\u2069 7/edit")
        assert "There is no reminder named &#34;\u2068א 7\u2069&#34;; it may have been deleted." in shown.text
        for path in (f"/reminders/lists/{number}", "/channels/1/messages"):
            assert f"<title>{KEPT_APART} · Tidegate</title>" in (await client.get(path)).text

    async def test_no_page_has_marks_that_turn_the_writing(self, client: httpx.AsyncClient, database: Database) -> None:
        """Outside of what a form brings back as it was, and of messages, which are texts of their own."""
        await database.pool.execute("UPDATE accounts SET name = $1", TURNING)
        await database.pool.execute("UPDATE channels SET title = $1", TURNING)
        for _, path in NAVIGATION:
            text = re.sub(r'value="[^"]*"', "", (await client.get(path)).text)
            assert not TURNS.search(re.sub("\u2068[^\u2066-\u2069]+\u2069", "", text)), path


class TestPrefix:
    async def test_the_api_names_its_places_with_the_prefix(self, database: Database) -> None:
        """Where something was put, and where the document says that the API is."""
        await database.pool.execute(GROUPS)
        async with visiting(database, TIDEGATE_WEB_URL="http://127.0.0.1/gate") as client:
            client.headers["authorization"] = f"Bearer {await token(database, scopes=list(TokenScope))}"
            for base in ("/gate", ""):
                left = await client.post(f"{base}/api/accounts/shop/sync")
                assert left.headers["location"].startswith("/gate/api/commands/")
                assert (await client.get(left.headers["location"])).status_code == 200
                document = (await client.get(f"{base}/api/openapi.json")).json()
                assert document["servers"] == [{"url": "/gate"}]

    async def test_the_prefix_alone_leads_to_the_first_page(self, database: Database) -> None:
        """People leave the last slash out, and a browser shows its cookie only below the prefix."""
        async with visiting(database, TIDEGATE_WEB_URL="http://127.0.0.1/gate") as client:
            answer = await client.get("/gate")
        assert (answer.status_code, answer.headers["location"]) == (308, "/gate/")


class TestComingBack:
    async def test_a_question_survives_the_sign_in(self, client: httpx.AsyncClient, database: Database) -> None:
        """Whoever has to sign in first comes back to what was asked for, its search included."""
        await set_password(database)
        answer = await client.get("/messages?q=two+words&by=newest")
        assert answer.headers["location"] == "/sign-in?next=/messages%3Fq%3Dtwo%2Bwords%26by%3Dnewest"
        assert 'value="/messages?q=two+words&amp;by=newest"' in (await client.get(answer.headers["location"])).text
        back = await client.post("/sign-in", data={"password": PASSWORD, "next": "/messages?q=two+words&by=newest"})
        assert back.headers["location"] == "/messages?q=two+words&by=newest"

    async def test_colours_change_under_what_is_typed(self, client: httpx.AsyncClient) -> None:
        """With script no other page is loaded; without it the same page, and never one that only a form leads to."""
        token = client.headers["x-for-tests"]
        answer = await client.post("/theme", data={"theme": "dark"}, headers=htmx(token))
        assert (answer.status_code, "hx-redirect" in answer.headers) == (204, False)
        assert client.cookies["tidegate_theme"] == "dark"
        assert 'name="next" value="/channels?q=a"' in (await client.get("/channels?q=a")).text
        assert 'name="next" value="/"' in (await client.post("/reminders/review", data=filled(client))).text


class TestScopes:
    async def test_every_address_wants_its_scope(self, client: httpx.AsyncClient, database: Database) -> None:
        """Reading reads, steering changes, and settings and tokens are for administrators alone; nothing is open."""
        shown = {
            scope: {"authorization": f"Bearer {await token(database, scope.value, scopes=[scope])}"}
            for scope in TokenScope
        }
        asked = [(path, method.upper()) for path, ways in document()["paths"].items() for method in ways]
        assert len(asked) > 40
        for path, method in asked:
            needed = TokenScope.READ if method == "GET" else TokenScope.STEER
            if path.startswith(("/api/settings", "/api/tokens")):
                needed = TokenScope.ADMIN
            address = re.sub(r"{\w+(:path)?}", "1", path)
            assert (await client.request(method, address)).status_code == 401, (method, path)
            for scope in set(TokenScope) - {needed}:
                answer = await client.request(method, address, headers=shown[scope])
                assert answer.status_code == 403, (method, path, scope)
                assert f"do not include {needed.value}" in answer.json()["detail"], (method, path, scope)
