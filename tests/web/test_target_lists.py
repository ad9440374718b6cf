"""Saved lists of groups on the pages and over the API: made, renamed, filled by searching, replaced and removed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.web.api_client import refused, token
from tests.web.hostile_words import HOSTILE
from tests.web.refusal_sentences import UNSTORABLE
from tests.web.reminder_client import client, filled
from tests.web.reminder_document import WRITTEN
from tidegate.access.queries.tokens import TokenScope
from tidegate.database.pool import Database
from tidegate.reminders.queries import group_choice, target_lists
from tidegate.reminders.queries.group_choice import GroupFilter

__all__ = ["client"]  # a fixture

LISTS = "/reminders/lists"
API = "/api/target-lists"


async def post(client: httpx.AsyncClient, path: str, **values: Any) -> httpx.Response:
    """A form of the page, sent without script."""
    return await client.post(path, data={**values, "change_token": client.headers["x-for-tests"]})


async def titles(database: Database, number: int = 1) -> list[str]:
    async with database.connection() as connection:
        return [one.title for one in await target_lists.members(connection, number)]


@pytest.fixture
async def shops(client: httpx.AsyncClient) -> str:
    """The address of a new list without groups."""
    answer = await post(client, LISTS, name="shops")
    assert (answer.status_code, answer.headers["location"]) == (303, f"{LISTS}/1")
    return f"{LISTS}/1"


@pytest.fixture
async def api(client: httpx.AsyncClient, database: Database) -> httpx.AsyncClient:
    """The same house, asked with a token for everything."""
    client.headers["authorization"] = f"Bearer {await token(database)}"
    return client


class TestPages:
    async def test_groups_are_found_and_put_on_and_taken_off(
        self, client: httpx.AsyncClient, database: Database, shops: str
    ) -> None:
        """By ticking them, with forms alone; each search shows what it was about, and where the list stands."""
        page = (await client.get(shops, params={"q": "group"})).text
        ticks = dict(re.findall(r'name="group" value="(\d+)"> <span><bdi class="name">([^<]*)<', page))
        assert list(ticks.values()) == ["Group 1", "Group 2", "Group 3"]
        put = await post(client, f"{shops}/groups", q="group", which="chosen", group=list(ticks)[:2])
        assert put.headers["location"] == f"{shops}?q=group"
        assert await titles(database) == ["Group 1", "Group 2"]
        left = (await client.get(put.headers["location"])).text
        assert ("Group 3" in left, "Group 1<" in left, "shops</bdi>: 2 groups" in left) == (True, False, True)
        await post(client, f"{shops}/groups", on_it="true", which="chosen", group=next(iter(ticks)))
        assert await titles(database) == ["Group 2"]

    async def test_all_that_is_found_is_put_on_at_once(
        self, client: httpx.AsyncClient, database: Database, shops: str
    ) -> None:
        """Also what is too much to be shown; and taken off the same way. What nobody may write to is not among it."""
        await database.pool.execute(
            "INSERT INTO channels (platform, number, title, kind) "
            "SELECT 'telegram', n, 'Branch ' || n, 'group' FROM generate_series(100, 599) n;"
            "INSERT INTO sights (account, channel, may_post) SELECT 1, id, number < 598 "
            "FROM channels WHERE number >= 100"
        )
        page = (await client.get(shops, params={"q": "branch"})).text
        assert "498 groups not in list (filtered); the first 200 are shown" in page
        assert "Add all 498" in page
        await post(client, f"{shops}/groups", q="branch", which="all")
        assert len(await titles(database)) == 498
        await post(client, f"{shops}/groups", q="branch 10", on_it="true", which="all")
        assert len(await titles(database)) == 488

    async def test_a_renamed_list_keeps_its_reminders(
        self, client: httpx.AsyncClient, database: Database, shops: str
    ) -> None:
        """What is written goes to the new name, so that it can be edited and saved as it is."""
        await post(client, f"{shops}/groups", which="all")
        await client.post("/reminders/save", data=filled(client, to="list", saved_list="shops"))
        assert (await post(client, f"{shops}/rename", name="all shops")).status_code == 303
        assert await database.pool.fetchval("SELECT written ->> 'list' FROM reminders") == "all shops"
        form = (await client.get("/reminders/1/edit")).text
        assert '<option value="all shops" selected>all shops (3)</option>' in form
        same = filled(client, reminder="1", to="list", saved_list="all shops")
        again = await client.post("/reminders/review", data=same)
        assert "1 message to each of 3 groups" in again.text

    async def test_one_that_reminders_go_to_is_not_removed_and_they_are_named(
        self, client: httpx.AsyncClient, database: Database, shops: str
    ) -> None:
        """Before and after the button is pressed; once nothing goes to it, it goes."""
        await client.post("/reminders/save", data=filled(client, to="list", saved_list="shops"))
        assert "Friday stock" in (await client.get(LISTS)).text
        answer = await post(client, f"{shops}/remove")
        assert (answer.status_code, "&#34;Friday stock&#34;" in answer.text) == (409, True)
        await client.post("/reminders/save", data=filled(client, reminder="1", to="all"))
        assert (await post(client, f"{shops}/remove")).headers["location"] == LISTS
        assert "No lists yet" in (await client.get(f"{LISTS}/rows")).text
        assert await database.pool.fetch("SELECT kind FROM events WHERE kind LIKE 'list.%' ORDER BY id") == [
            ("list.added",), ("list.removed",),
        ]  # fmt: skip

    @pytest.mark.parametrize("name", [" ", "x" * 201, "a\nb", "shops"])
    async def test_a_name_that_cannot_be_is_a_sentence(self, client: httpx.AsyncClient, shops: str, name: str) -> None:
        """Empty, too long, of several lines, or taken."""
        answer = await post(client, LISTS, name=name)
        assert (answer.status_code, "list" in answer.text) == (400, True)

    async def test_changes_need_our_own_form(self, client: httpx.AsyncClient, database: Database, shops: str) -> None:
        """Without the form's token nothing is changed."""
        for path in (LISTS, f"{shops}/rename", f"{shops}/groups", f"{shops}/remove"):
            assert (await client.post(path, data={"name": "x", "which": "all"})).status_code == 403
        assert await database.pool.fetch("SELECT name FROM target_lists") == [("shops",)]
        assert await titles(database) == []

    async def test_hostile_titles_and_names_are_shown_harmlessly(
        self, client: httpx.AsyncClient, database: Database, shops: str
    ) -> None:
        """On every page that tells of lists."""
        await database.pool.execute("UPDATE channels SET title = $1 WHERE number = 1", HOSTILE)
        await database.pool.execute("UPDATE target_lists SET name = $1", HOSTILE)
        for path in (LISTS, shops, "/reminders/new", f"{LISTS}/options"):
            text = (await client.get(path)).text
            assert ("<script>" in text, "&lt;script&gt;alert" in text) == (False, True), path

    async def test_the_wizard_leads_there_and_hears_of_changes(self, client: httpx.AsyncClient, shops: str) -> None:
        """A window of its own, so that nothing typed is lost, and the choice is made anew when lists change."""
        form = (await client.get("/reminders/new")).text
        assert f'href="{LISTS}" target="_blank"' in form
        assert 'hx-trigger="news-list from:body"' in form
        options = (await client.get(f"{LISTS}/options", params={"saved_list": "shops"})).text
        assert options == '<option value="">Choose a list</option><option value="shops" selected>shops (0)</option>'


class TestApi:
    async def test_one_is_made_shown_replaced_and_removed(self, api: httpx.AsyncClient) -> None:
        """Groups by title or number, of one account or of any; names and numbers lead to the list."""
        made = await api.post(API, json={"name": "shops", "account": "shop", "groups": ["Group 2", "1"]})
        assert (made.status_code, made.headers["location"]) == (201, f"{API}/1")
        assert [one["title"] for one in made.json()["groups"]] == ["Group 1", "Group 2"]
        assert (await api.get(made.headers["location"])).json() == made.json()
        await api.post("/api/reminders", json={**{k: v for k, v in WRITTEN.items() if k != "all"}, "list": "shops"})
        put = await api.put(f"{API}/shops", json={"name": "others", "groups": ["Group 3"]})
        assert put.json() == {
            "id": 1,
            "name": "others",
            "groups": [{"title": "Group 3", "platform": "telegram", "number": 3, "state": "ok"}],
            "reminders": ["Friday stock"],
            "next": None,
        }
        assert (await api.get("/api/reminders/Friday stock")).json()["list"] == "others"
        assert '"Friday stock"' in refused(await api.delete(f"{API}/others"), 409)
        await api.delete("/api/reminders/Friday stock")
        assert (await api.delete(f"{API}/others")).status_code == 204
        assert "There is no list" in refused(await api.get(f"{API}/others"), 404)

    async def test_lists_come_in_pages(self, api: httpx.AsyncClient) -> None:
        """By name, each once, and the last page says so."""
        for name in ("b", "a", "c"):
            await api.post(API, json={"name": name, "groups": []})
        seen, after = [], ""
        while after is not None:
            page = (await api.get(API, params={"limit": 2, "after": after})).json()
            seen += [(one["name"], one["groups"], one["reminders"]) for one in page["lists"]]
            after = page["next"]
        assert seen == [("a", 0, []), ("b", 0, []), ("c", 0, [])]

    @pytest.mark.parametrize(
        ("wanted", "status", "sentence"),
        [
            ({"name": "x", "groups": ["Nowhere"]}, 400, 'No account sees a group "Nowhere"'),
            ({"name": "x", "account": "shop", "groups": ["Nowhere"]}, 400, 'The account sees no group "Nowhere"'),
            ({"name": "x", "account": "nobody", "groups": []}, 404, "no account named"),
            ({"name": "shops", "groups": []}, 400, 'There is a list "shops" already'),
            ({"name": " ", "groups": []}, 400, "A list needs a name"),
            ({"name": "a\0", "groups": []}, 400, UNSTORABLE),
            ({"name": "x"}, 422, "body.groups"),
        ],
    )
    async def test_what_cannot_be_is_a_sentence(
        self, api: httpx.AsyncClient, wanted: dict[str, Any], status: int, sentence: str
    ) -> None:
        """bad-input-gets-a-sentence, and nothing half written: the list is as it was."""
        await api.post(API, json={"name": "shops", "groups": ["Group 1"]})
        assert sentence in refused(await api.post(API, json=wanted), status)
        assert [one["name"] for one in (await api.get(API)).json()["lists"]] == ["shops"]

    async def test_each_scope_lets_its_own(self, api: httpx.AsyncClient, database: Database) -> None:
        """Reading does not change, and changing does not read."""
        reads = {"authorization": f"Bearer {await token(database, 'r', scopes=[TokenScope.READ])}"}
        steers = {"authorization": f"Bearer {await token(database, 's', scopes=[TokenScope.STEER])}"}
        wanted = {"name": "shops", "groups": []}
        assert "may not steer" in refused(await api.post(API, json=wanted, headers=reads), 403)
        assert (await api.post(API, json=wanted, headers=steers)).status_code == 201
        assert "may not read" in refused(await api.get(API, headers=steers), 403)
        assert (await api.get(f"{API}/shops", headers=reads)).status_code == 200

    async def test_a_name_that_is_a_number_is_a_name_first(self, api: httpx.AsyncClient) -> None:
        """A list called "1" is found by it, although another one has that number."""
        for name in ("first", "1"):
            await api.post(API, json={"name": name, "groups": []})
        assert (await api.get(f"{API}/1")).json()["name"] == "1"
        assert (await api.get(f"{API}/2")).json()["name"] == "1"


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.tuples(st.booleans(), st.sets(st.integers(0, 5))), max_size=6))
async def test_what_is_on_a_list_is_what_was_put_and_not_taken(
    database: Database, steps: Sequence[tuple[bool, set[int]]]
) -> None:
    """Whatever is put and taken in whichever order; numbers that are no channel's change nothing. What is on the list
    and what could be put on it are never the same group, and nothing is in neither."""
    async with database.connection() as connection:
        trial = connection.transaction()
        await trial.start()
        await connection.execute(
            "INSERT INTO accounts (name, platform) VALUES ('shop', 'telegram');"
            "INSERT INTO channels (platform, number, title, kind) "
            "SELECT 'telegram', n, 'Group ' || n, 'group' FROM generate_series(1, 5) n;"
            "INSERT INTO sights (account, channel, may_post) SELECT a.id, c.id, true FROM accounts a, channels c"
        )
        keys = [0, *(row["id"] for row in await connection.fetch("SELECT id FROM channels ORDER BY id"))]
        saved = await target_lists.add(connection, "shops")
        expected: set[int] = set()
        for put, numbers in steps:
            wanted = {keys[number] for number in numbers}
            await (target_lists.put if put else target_lists.take)(connection, saved, wanted)
            expected = expected | (wanted - {0}) if put else expected - wanted
            on_it = await group_choice.all_sought(connection, GroupFilter(saved, on_it=True))
            off_it = await group_choice.all_sought(connection, GroupFilter(saved, on_it=False))
            assert (set(on_it), set(off_it)) == (expected, set(keys[1:]) - expected)
        await trial.rollback()
