"""What is kept of Discord's JSON."""

from __future__ import annotations

import json
from statistics import mean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.platforms.discord.shapes import CHANNEL, message
from tidegate.history.content_json import content_json, read_content
from tidegate.history.queries.message_patches import patched
from tidegate.history.raw_json import pack, unpack
from tidegate.platforms.discord.gateway.message_events import MESSAGE_EVENTS
from tidegate.platforms.discord.messages.content import content_of
from tidegate.platforms.discord.messages.raw_fields import changes_of, no_names, raw_of
from tidegate.platforms.discord.translation import message_of

CDN = "https://cdn.discordapp.com/attachments/1111111111111111111/1222222222222222222/pier.png"


def size(found: dict[str, Any]) -> int:
    return len(pack(raw_of(found)) or b"")


def photo(number: int, **more: Any) -> dict[str, Any]:
    """A picture as Discord sends it today."""
    attachment = {
        "id": str(1_410_000_000_000_000_000 + number * 7_919_191),
        "filename": f"IMG_{number}.png",
        "size": 812_345 + number,
        "url": f"{CDN}?ex=68a&is=689&hm=" + "f" * 64,
        "proxy_url": f"{CDN}?ex=68a&is=689&hm=" + "f" * 64,
        "width": 1170 + number,
        "height": 2532 - number,
        "content_type": "image/png",
        "content_scan_version": 2,
        "placeholder": f"{number:03}iFgYKXwIdXeIiXhoh3eId3CHeIeHgA==",
        "placeholder_version": 1,
        **more,
    }
    return message(number, content="", attachments=[attachment])


class TestWhatIsKept:
    def test_nothing_is_kept_of_a_plain_text(self) -> None:
        """Columns hold all of it."""
        assert raw_of(message(1, components=[], guild_id="2", channel_type=1, nonce="3", position=4)) == {}

    def test_what_has_no_place_of_its_own_is_kept(self) -> None:
        """Also fields that nobody knows yet."""
        told: dict[str, Any] = {"embeds": [{"title": "Tides"}], "pinned": True, "flags": 4, "surprise": [{"a": 0}]}
        assert raw_of(message(**told)) == told

    def test_an_edit_keeps_its_time(self) -> None:
        """It tells an edit from a preview."""
        edited = "2026-01-02T12:00:00+00:00"
        assert raw_of(message(edited_timestamp=edited)) == {"edited_timestamp": edited}

    def test_the_same_message_is_kept_equally_whoever_asks(self) -> None:
        """Signatures, members, nonces, pictures of people and the order of mentions differ between two answers."""

        def told(signature: str, **more: Any) -> dict[str, Any]:
            image = {"url": f"{CDN}?ex={signature}", "proxy_url": f"https://images-ext-{signature}.discordapp.net/x"}
            people = [{"id": "6", "username": "b", "avatar": signature}, {"id": "5", "username": "a", "member": {}}]
            return message(
                embeds=[{"image": image, "content_scan_version": len(more)}],
                components=[{"type": 11, "media": image | {"loading_state": len(more)}}],
                mentions=people if more else people[::-1],
                interaction_metadata={"id": "7", "user": people[0]},
                application={"id": "8", "name": "Chart", "description": signature},
                message_snapshots=[{"message": {"content": "x", "mentions": people[:1], "attachments": [image]}}],
                **more,
            )

        first = raw_of(told("1"))
        other = raw_of(told("2", nonce="5", member={"nick": "A"}, guild_id="9", channel_type=1, position=3))
        assert first == other
        assert "ex=" not in json.dumps(first)

    @pytest.mark.parametrize(
        ("address", "kept"),
        [
            (f"{CDN}?ex=1&is=2&hm=3", CDN),
            ("https://media.discordapp.net/external/a.png?width=5", "https://media.discordapp.net/external/a.png"),
            ("https://cdn.discordapp.com/a.png?v=1.2&ex=3&", "https://cdn.discordapp.com/a.png"),
            ("http://127.0.0.1:5/attachments/1/2/x.png?ex=1&is=2&hm=3", "http://127.0.0.1:5/attachments/1/2/x.png"),
            ("https://example.org/a?ex=1&hm=3", "https://example.org/a?ex=1&hm=3"),
            ("https://example.org/attachments/a?page=3", "https://example.org/attachments/a?page=3"),
        ],
    )
    def test_only_signatures_are_taken_off_an_address(self, address: str, kept: str) -> None:
        """Another site's address leads nowhere without its question."""
        assert raw_of(message(embeds=[{"url": address}])) == {"embeds": [{"url": kept}]}

    @pytest.mark.parametrize("address", [CDN, "http://127.0.0.1:5/attachments/1/2/x.png"])
    @given(
        before=st.lists(st.from_regex(r"[\w,.!?:;=&%()<>äöü潮]{1,12}", fullmatch=True), max_size=4),
        after=st.lists(st.from_regex(r"[\w,.!?:;=&%()<>äöü潮]{1,12}", fullmatch=True), max_size=4),
        close=st.sampled_from(["", ")", ">", "]", ".", ", or"]),
    )
    def test_the_words_around_an_address_stay(
        self, address: str, before: list[str], after: list[str], close: str
    ) -> None:
        """Wherever an address stands in a text that people read, only its own signature goes."""
        signed, bare = (" ".join([*before, f"{address}{rest}{close}", *after]) for rest in ("?ex=1&is=2&hm=3f", ""))
        told = message(
            embeds=[{"description": signed}],
            message_snapshots=[{"message": {"content": signed}}],
            components=[{"type": 10, "content": signed}],
            poll={"question": {"text": signed}},
        )
        assert raw_of(told) == {
            "embeds": [{"description": bare}],
            "message_snapshots": [{"message": {"content": bare}}],
            "components": [{"type": 10, "content": bare}],
            "poll": {"question": {"text": bare}},
        }

    def test_a_question_about_an_address_is_no_signature(self) -> None:
        """What follows an address with a question mark may be a word."""
        told = [{"description": f"seen {CDN}?really"}]
        assert raw_of(message(embeds=told)) == {"embeds": told}

    def test_votes_and_reactions_are_not_kept(self) -> None:
        """They are numbers with a time of their own."""
        results = {"answer_counts": [{"id": 1, "count": 5}]}
        told = message(poll={"question": {"text": "?"}, "results": results}, reactions=[{"emoji": {}, "count": 1}])
        assert raw_of(told) == {"poll": {"question": {"text": "?"}}}

    def test_a_name_is_kept_only_while_the_text_mentions_it(self) -> None:
        """An edit that takes a mention out takes its name out of what is stored."""
        names = {"<#6>": "general"}
        assert raw_of(message(content="see <#6>"), lambda one: names.get(one, ""))["names"] == names
        assert changes_of({"id": "1", "channel_id": CHANNEL, "content": "see"})["names"] is None
        assert "names" not in changes_of({"id": "1", "channel_id": CHANNEL, "embeds": []})


class TestSizes:
    def test_short_texts_take_at_most_150_bytes(self) -> None:
        """Plain, edited, a reply, with a mention, with an emoji of a guild."""
        number = "1410000000000000123"
        reply = {"type": 0, "message_id": number, "channel_id": CHANNEL, "guild_id": number}
        texts = [
            message(),
            message(edited_timestamp="2026-01-02T12:00:00.123000+00:00"),
            message(type=19, message_reference=reply, referenced_message=message(3)),
            message(mentions=[{"id": number, "username": "bob", "global_name": "Bob Fischer"}]),
            message(content=f"<#{number}>", flags=4096),
            message(type=7, content=""),
        ]
        assert max(size(one) for one in texts) <= 150

    def test_photos_take_at_most_700_bytes_on_average(self) -> None:
        """With a description too."""
        photos = [photo(number, **({"description": "The pier at noon"} if number % 2 else {})) for number in range(50)]
        assert mean(size(one) for one in photos) <= 300


FULL: dict[str, Any] = {
    "embeds": [{"type": "rich", "title": "Tides"}],
    "components": [{"type": 1, "components": [{"type": 2, "label": "Go"}]}],
    "poll": {"question": {"text": "When?"}, "answers": [{"answer_id": 1, "poll_media": {"text": "Noon"}}]},
    "sticker_items": [{"id": "8", "name": "Wave", "format_type": 1}],
    "attachments": [{"id": "77", "filename": "x.png", "size": 5, "content_type": "image/png"}],
    "message_snapshots": [{"message": {"content": "x", "embeds": [{"title": "y"}]}}],
    "message_reference": {"type": 1, "message_id": "3", "channel_id": "4"},
    "mentions": [{"id": "5", "username": "ada"}],
    "content": "<@5> <#6>",
    "flags": 4,
    "type": 0,
    "pinned": True,
}
EDITED = "2026-02-03T04:05:06+00:00"


@given(st.sets(st.sampled_from(sorted(FULL))), st.sets(st.sampled_from(sorted(FULL))))
def test_a_part_merged_into_what_is_stored_reads_like_the_whole(before: set[str], changed: set[str]) -> None:
    """Whatever fields an edit event brings: the stored message then is what Discord would answer."""

    def name(written: str) -> str:
        return {"<#6>": "general"}.get(written, "")

    was = message(5, **{key: FULL[key] for key in before})
    part = {key: FULL[key] for key in changed} | {"id": "5", "channel_id": CHANNEL, "edited_timestamp": EDITED}
    (patch,) = MESSAGE_EVENTS["MESSAGE_UPDATE"](part, name).patched
    merged = patched(message_of(was, name), patch)
    whole = message_of({**was, **part}, name)
    assert merged is not None
    assert (merged.kind, merged.content, merged.raw) == (whole.kind, whole.content, whole.raw)
    assert (merged.text, merged.files) == (whole.text, whole.files)


TEXTS = ["5", "1" * 25, EDITED, "0001-01-01T00:00:00+23:59"]
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["5", "1" * 25, EDITED]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["id", "type", "name", "username", "message", "url", "content", "fields", "user", "text"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)
FIELDS = [
    *FULL, "edited_timestamp", "author", "timestamp", "call", "application", "activity", "interaction", "reactions",
    "interaction_metadata", "role_subscription_data", "purchase_notification", "referenced_message", "mention_channels",
    "thread", "webhook_id", "stickers", "tts", "mention_everyone", "names", "announced_by",
]  # fmt: skip


@given(
    st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=5), st.sampled_from([0, 1, 2, 3, 6, 19, 21, 24, 25, 44, 46])
)
def test_a_strange_value_stops_nothing(strange: dict[str, Any], kind: int) -> None:
    """Whatever stands in whatever field: the message is read, stored and read again."""
    found = message_of({**message(5, type=kind), **strange})
    assert content_of(unpack(pack(found.raw))) == (found.kind, found.content)
    assert read_content(json.loads(json.dumps(content_json(found.content)))) == found.content
    MESSAGE_EVENTS["MESSAGE_UPDATE"]({"id": "5", "channel_id": CHANNEL, **strange}, no_names)


@pytest.mark.parametrize("field", ["components", "embeds", "poll", "surprise"])
def test_endless_nesting_stops_nothing(field: str) -> None:
    """Beyond a depth that Discord never reaches it is cut."""
    deep: Any = {"type": 17, "content": "innermost"}
    for _ in range(900):
        deep = {"type": 17, "content": "said", "components": [deep]}
    found = message_of(message(**{field: [deep] if field != "poll" else deep}))
    assert unpack(pack(found.raw)) == found.raw
    assert "(nested too deeply)" in json.dumps(found.raw)
