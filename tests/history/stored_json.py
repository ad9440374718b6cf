"""JSON as another version may have stored it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from hypothesis import strategies as st

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)

Place = tuple[int | str, ...]


def places(stored: Any, at: Place = ()) -> Iterator[Place]:
    """Every place in a document but its root."""
    inner = stored.items() if isinstance(stored, dict) else enumerate(stored) if isinstance(stored, list) else ()
    for step, value in inner:
        yield (*at, step)
        yield from places(value, (*at, step))


def put(stored: Any, place: Place, value: Any) -> None:
    """Put a value in a place."""
    for step in place[:-1]:
        stored = stored[step]
    stored[place[-1]] = value


def with_unknown_keys(stored: Any, keys: Mapping[str, Any], *, free: Collection[str] = ()) -> Any:
    """The document with further keys in every object; those under *free* may have any keys, and stay as they are."""
    if isinstance(stored, list):
        return [with_unknown_keys(one, keys) for one in stored]
    if not isinstance(stored, dict):
        return stored
    kept = {name: value if name in free else with_unknown_keys(value, keys) for name, value in stored.items()}
    return {**keys, **kept}
