"""Every kind of message of the library, read and found again."""

from __future__ import annotations

import json

import pytest

from tests.platforms.discord.sample_messages import EVERY_KIND, sample
from tidegate.core.message_content import MessageKind
from tidegate.history.content_json import content_json, read_content
from tidegate.history.raw_json import pack, unpack
from tidegate.platforms.discord.messages.content import content_of
from tidegate.platforms.discord.translation import message_of

SAY_NOTHING = ("component_separator", "component_file_upload", "component_checkbox", "loading")
"""A line, two parts of a form that stand under a label of their own, and an answer that is still awaited."""


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_a_sample_of_every_kind_is_read_and_found_again(kind: str) -> None:
    """What is stored reads like what was sent, holds no signature, and is supported unless nobody knows it."""
    found = message_of(sample(kind))
    assert content_of(unpack(pack(found.raw))) == (found.kind, found.content)
    assert read_content(json.loads(json.dumps(content_json(found.content)))) == found.content
    assert "hm=" not in json.dumps(found.raw)
    assert (found.kind is MessageKind.UNSUPPORTED) is (kind == "unknown_type")
    assert bool(found.content.unsupported) is (kind == "unknown_type")


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_a_sample_of_every_kind_shows_something(kind: str) -> None:
    """No message looks empty to its reader."""
    found = message_of(sample(kind))
    shown = content_json(found.content).keys() - {"marks", "mentions"}
    assert found.text or found.files or shown or kind in SAY_NOTHING
