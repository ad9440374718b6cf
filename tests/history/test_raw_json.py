"""What a platform sent about a message comes back as it was, and takes little room."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tidegate.history.raw_json import is_readable, pack, unpack

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(value=st.dictionaries(st.text(), JSON, max_size=6))
def test_what_is_packed_comes_back(value: dict[str, Any]) -> None:
    """Whatever a platform sends."""
    assert unpack(pack(value)) == value


@given(value=st.dictionaries(st.text(), JSON, max_size=6))
def test_equal_values_are_packed_equally(value: dict[str, Any]) -> None:
    """In whatever order the platform names the fields: otherwise a message would look changed."""
    turned = dict(reversed(value.items()))
    assert pack(turned) == pack(value)


def test_the_dictionary_shortens_what_is_common() -> None:
    """A message with an embed takes less than half of its JSON."""
    embed = {"type": "rich", "title": "A page", "description": "Words in it", "url": "https://example.org/a"}
    value = {"type": 0, "embeds": [embed]}
    packed = pack(value)
    assert packed is not None
    assert len(packed) < len(json.dumps(value)) / 2


def test_the_first_dictionary_stays() -> None:
    """Values that were packed by an earlier version are read for ever."""
    packed = bytes.fromhex(
        "01ab461e93406daee4a7299464a42a64241625e5971621b5451c150a200d1dd4fc9a5a01eccde4a4eae517a543062571f659a01d955a00"
    )
    page = {"title": "A page", "description": "of the harbour", "url": "https://example.org/"}
    assert unpack(packed) == {"type": 19, "embeds": [page], "flags": 4, "pinned": True}


def test_what_a_later_version_packed_is_not_read() -> None:
    """Its dictionary is not here: nothing is shown of it, and nothing fails."""
    assert unpack(bytes([99]) + b"anything") == {}
    assert unpack(bytes([1]) + b"broken") == {}
    assert not is_readable(bytes([99]) + b"anything")
    assert is_readable(pack({"a": "b"}))
    assert is_readable(None)
