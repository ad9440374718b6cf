"""Messages between two processes: whole or not at all."""

from __future__ import annotations

import asyncio
import io

from hypothesis import given
from hypothesis import strategies as st

from tidegate.frames import Frame, pack, read, read_from

heads = st.dictionaries(st.text(), st.one_of(st.integers(), st.text(), st.booleans()), max_size=4)
frames = st.builds(Frame, heads, st.binary(max_size=64))


async def _all(written: bytes) -> list[Frame]:
    reader = asyncio.StreamReader()
    reader.feed_data(written)
    reader.feed_eof()
    found = []
    while (frame := await read(reader)) is not None:
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
