"""Event kinds: each has one class, is written somewhere, and is read back as it was written."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import fields
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.events.event_data import EventData, field_types
from tidegate.events.kinds import KINDS, parse
from tidegate.events.kinds.archives import ArchiveFiled
from tidegate.events.kinds.channels import ChannelRead
from tidegate.events.kinds.lanes import LanePaused
from tidegate.web.live.event_sentences import event_words

SRC = Path(__file__).parent.parent.parent / "src" / "tidegate"
IN_SQL = re.compile(r"'([a-z_]+\.[a-z_]+)'")
BY_THE_SCHEMA = {"pace.clock_went_back"}  # a function of the database records it

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
kinds = st.sampled_from(list(KINDS.values()))


def of_types(kind: type[EventData]) -> st.SearchStrategy[Any]:
    """Any event of a kind that its types allow."""
    times = st.datetimes(timezones=st.just(UTC))
    with_times = {
        name: times if "None" not in str(hint) else st.none() | times
        for name, hint in field_types(kind).items()
        if "datetime" in str(hint)
    }
    return st.builds(kind, **with_times)


def of_names(kind: type[EventData]) -> st.SearchStrategy[tuple[str, dict[str, Any]]]:
    """A kind, and anything stored under the names of its fields."""
    names = [one.name for one in fields(kind)]
    return st.tuples(st.just(kind.kind), st.dictionaries(st.sampled_from(names), JSON) if names else st.just({}))


@cache
def modules() -> list[tuple[Path, ast.Module]]:
    """The modules that may have to do with events."""
    paths = [path for path in sorted(SRC.rglob("*.py")) if SRC / "events" not in path.parents]
    return [(path, ast.parse(text)) for path in paths if "events" in (text := path.read_text())]


def statements(tree: ast.AST) -> Iterator[str]:
    """The texts of a module that are about the table of events."""
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and re.search(r"(FROM|INTO|ON) events\b", text):
            yield text


class TestWriters:
    def test_every_kind_is_written_somewhere(self) -> None:
        """A class that nobody writes would be documented and never come."""
        written: set[str] = set()
        for _, tree in modules():
            names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
            calls = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
            if (
                "feed.record" in calls
                or "MachinePause" in names
                or any("INSERT INTO events" in text for text in statements(tree))
            ):
                written |= names
        assert {kind for kind, one in KINDS.items() if one.__name__ not in written} == BY_THE_SCHEMA

    def test_only_the_feed_writes_events(self) -> None:
        """Another statement could record what has no class. Two do: one gives a class, one is of the schema."""
        found = {
            path.name for path, tree in modules() if any("INSERT INTO events" in text for text in statements(tree))
        }
        assert found == {"run_freeze.py", "0001_house.py"}

    def test_every_kind_named_in_sql_is_known(self) -> None:
        """A statement that asks for a kind which is never recorded finds nothing, without a word."""
        named = {kind for _, tree in modules() for text in statements(tree) for kind in IN_SQL.findall(text)}
        assert named >= {"backfill.progressed", "archive.failed", "pace.clock_went_back"}
        assert named - set(KINDS) == set()


class TestStoredForm:
    @settings(max_examples=300)
    @given(event=kinds.flatmap(of_types))
    def test_it_is_read_as_it_was_written(self, event: EventData) -> None:
        """What a writer gives is what a reader gets, by way of JSON."""
        assert parse(event.kind, json.loads(json.dumps(event.as_json()))) == event

    @settings(max_examples=300)
    @given(stored=kinds.flatmap(of_names))
    def test_whatever_is_stored_can_be_shown(self, stored: tuple[str, dict[str, Any]]) -> None:
        """Rows of other releases may lack fields, or hold others under their names; no page fails for it."""
        event = parse(*stored)
        assert isinstance("" if event is None else event_words(event), str)

    def test_a_kind_nobody_knows_is_none(self) -> None:
        """A feed may hold events of a later release."""
        assert parse("something.new", {"x": 1}) is None

    def test_keys_that_are_not_known_are_left_alone(self) -> None:
        """A later release may add some."""
        data = {"channel": 7, "topic": None, "messages": 3, "archives": 1, "new": 1}
        assert parse("channel.read", data) == ChannelRead(channel=7, topic=None, messages=3, archives=1)

    def test_an_event_without_its_time_is_not_guessed(self) -> None:
        """No time is better than a wrong one."""
        assert parse("lane.paused", {"scope": "account", "key": ""}) is None

    def test_optional_keys_are_left_out(self) -> None:
        """Scripts tell by the key whether there is something: none is stored as null that was left out before."""
        filed = ArchiveFiled(archive=1, channel=7, flags=[], contents=3)
        assert filed.as_json() == {"archive": 1, "channel": 7, "flags": [], "contents": 3}
        compared = ArchiveFiled(archive=1, channel=7, flags=[], duplicate_of=None)
        assert compared.as_json() == {"archive": 1, "channel": 7, "flags": [], "duplicate_of": None}
        paused = LanePaused(scope="chat", key="7", until=datetime(2026, 3, 1, 12, tzinfo=UTC))
        assert paused.as_json() == {"scope": "chat", "key": "7", "until": "2026-03-01T12:00:00+00:00"}

    def test_a_list_loses_only_what_does_not_fit(self) -> None:
        """An archive may have been posted in messages of which the platform gave not every number."""
        data = {"archive": 1, "channel": 7, "flags": [], "destination": 9, "messages": [4, None, 6]}
        filed = parse("archive.filed", data)
        assert isinstance(filed, ArchiveFiled)
        assert filed.messages == [4, 6]
