"""Messages between two processes: whole or not at all."""

from __future__ import annotations

import asyncio
import io
import struct

from hypothesis import given
from hypothesis import strategies as st

from tidegate.core.child_protocol import Frame, pack, read, read_from

heads = st.dictionaries(st.text(), st.one_of(st.integers(), st.text(), st.booleans()), max_size=4)
frames = st.builds(Frame, heads, st.binary(max_size=64))


async def _all(written: bytes, **limit: int) -> list[Frame]:
    reader = asyncio.StreamReader()
    reader.feed_data(written)
    reader.feed_eof()
    found = []
    while (frame := await read(reader, **limit)) is not None:
        found.append(frame)
    return found


@given(st.lists(frames, max_size=4))
def test_what_is_written_is_read(sent: list[Frame]) -> None:
    """Any heads and bodies, one after the other, by either reader."""
    written = b"".join(pack(frame.head, frame.body) for frame in sent)
    assert asyncio.run(_all(written)) == sent
    file = io.BytesIO(written)
    assert [read_from(file) for _ in sent] == sent
    assert read_from(file) is None


@given(frames, st.data())
def test_half_a_message_is_none(frame: Frame, data: st.DataObject) -> None:
    """A process that dies while it writes has said nothing."""
    written = pack(frame.head, frame.body)
    cut = written[: data.draw(st.integers(0, len(written) - 1))]
    assert asyncio.run(_all(cut)) == []
    assert read_from(io.BytesIO(cut)) is None


@given(frames, st.integers(0, 60))
def test_a_message_longer_than_allowed_is_none(frame: Frame, longest: int) -> None:
    """A child that is not trusted cannot make its parent hold more than the parent allows, in head and body."""
    fits = len(pack(frame.head, frame.body)) - len(pack({}, b"")) + len(b"{}") <= longest
    assert asyncio.run(_all(pack(frame.head, frame.body), longest=longest)) == [frame] * fits


@given(st.binary(min_size=1, max_size=20), st.binary(max_size=20))
def test_a_head_that_is_no_object_is_none(head: bytes, body: bytes) -> None:
    """A peer that speaks something else is treated like one that has ended; nothing is raised."""
    written = struct.pack("!II", len(head), len(body)) + head + body
    assert asyncio.run(_all(written)) in ([], [Frame({}, body)])
    assert read_from(io.BytesIO(written)) in (None, Frame({}, body))
