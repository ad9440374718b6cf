"""An export that somebody opens in a spreadsheet runs nothing."""

from __future__ import annotations

import csv
import io

from hypothesis import given
from hypothesis import strategies as st

from tidegate.web.csv_text import csv_text

cells = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20),
    st.builds("{}{}".format, st.sampled_from(["=", "+", "-", "@", "\t=", " =", "\r"]), st.text("cmd|A1()\"',\n")),
)


@given(st.lists(st.tuples(cells, cells), max_size=5))
def test_no_cell_begins_like_a_formula(rows: list[tuple[str, str]]) -> None:
    """Every row comes back, each cell as it was or behind an apostrophe."""
    text = csv_text(["Group", "Reason"], rows)
    assert text[0] == "\ufeff"
    head, *read = csv.reader(io.StringIO(text[1:], newline=""))
    assert head == ["Group", "Reason"]
    assert len(read) == len(rows)
    for was, now in zip(rows, read, strict=True):
        for before, after in zip(was, now, strict=True):
            assert after in (before, f"'{before}")
            assert after.strip(" ")[:1] not in tuple("=+-@\t\r") or not after.strip(" ")
