"""What operators and their scripts rely on stays as ``contract.json`` promises it; ``contract.py`` writes it."""

from __future__ import annotations

import json

import pytest

from tests.code_base.contract import current, lacks, missing_fields, snapshot


@pytest.mark.parametrize("part", ["api", "commands", "settings", "values"])
def test_nothing_that_scripts_rely_on_changes_by_accident(part: str) -> None:
    """Names, types, multiplicity, allowed values and defaults are those of the snapshot."""
    assert current()[part] == snapshot()[part]


@pytest.mark.parametrize("part", ["documents", "events"])
def test_no_field_that_scripts_read_is_dropped(part: str) -> None:
    """What commands print as JSON and what events store may gain fields; none is removed or renamed."""
    now: dict[str, list[str]] = current()[part]
    promised: dict[str, list[str]] = snapshot()[part]
    assert {name: lost for name, fields in promised.items() if (lost := {*fields} - {*now.get(name, ())})} == {}
    assert [name for name in promised if name not in now] == []


def test_the_document_of_every_command_is_promised() -> None:
    """A command that prints JSON has a list of the fields that scripts may rely on."""
    with_json = {name for name, options in current()["commands"].items() if "--json: flag" in options}
    assert {name.partition(" --")[0] for name in snapshot()["documents"]} == with_json


class TestMissingFields:
    """The check that every run of a command with ``--json`` passes."""

    def test_it_sees_a_field_that_is_gone(self) -> None:
        """In one document of several."""
        account = dict.fromkeys(snapshot()["documents"]["tidegate account list"], 1)
        assert missing_fields(["account", "list"], json.dumps([account])) == []
        del account["next_action"]
        assert missing_fields(["account", "list"], json.dumps([account])) == ["next_action"]

    @pytest.mark.parametrize(
        ("document", "field", "missing"),
        [
            ({"a": 1}, "a", False),
            ({"a": 1}, "b", True),
            ({"a": []}, "a[].b", False),
            ({"a": [{"b": 1}, {}]}, "a[].b", True),
            ({"a": [{"b": [{"c": None}]}]}, "a[].b[].c", False),
            ({"a": None}, "a.b", False),
            ({"a": {}}, "a.b", True),
        ],
    )
    def test_it_looks_where_a_field_would_be(self, document: object, field: str, *, missing: bool) -> None:
        """What a list or null does not hold cannot be missing."""
        assert lacks(document, field) is missing
