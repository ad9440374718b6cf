"""Groups by number, however they are written."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tidegate.platforms.interface.group_numbers import NamedGroups, as_number, group_number

numbers = st.integers(1, 2**62 - 1)


def means(written, title, number):
    """Whether *written* stands for the group of that title and number."""
    return NamedGroups([(title, number, "it")]).meant_by(written) == ["it"]


@given(numbers)
def test_a_number_is_the_same_however_it_is_written(number):
    """Bare, as WhatsApp's address, or as Telegram's bots write the number of a channel."""
    for written in (str(number), f"{number}@g.us", f"-100{number}"):
        assert as_number(written) == str(number)
        assert means(written, "Shops", number)


@given(st.from_regex(r"[0-9]{5,20}-[0-9]{8,12}", fullmatch=True))
def test_an_address_of_the_old_kind_means_the_number_we_made_of_it(name):
    """It has none of its own."""
    assert means(f"{name}@g.us", "Shops", group_number(name))


@given(st.text(), numbers)
def test_a_title_means_its_group_and_no_other(title, number):
    """Whatever it looks like, be it the word None; a group that nobody knows any more has no number to go by."""
    assert means(title, title, number)
    assert means(title, f"{title}.", number) == (as_number(title) == str(number))
    assert not means(title, f"{title}.", None)


@given(
    groups=st.lists(st.tuples(st.sampled_from(["1", "2", "Shops", "-1001"]), st.sampled_from([None, 1, 2]))),
    written=st.sampled_from(["1", "2", "Shops", "-1001", "1@g.us"]),
)
def test_a_group_is_found_once_however_it_is_meant(groups, written):
    """All of that title or number, each once, also one whose title is its number."""
    named = NamedGroups((title, number, place) for place, (title, number) in enumerate(groups))
    right = [
        place
        for place, (title, number) in enumerate(groups)
        if title == written or (number is not None and as_number(written) == str(number))
    ]
    assert sorted(named.meant_by(written)) == right
