"""Reminders as operators write them."""

from __future__ import annotations

import json
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.core.errors import BadInput
from tidegate.lanes.rules.send_hours import SendWindow
from tidegate.platforms.interface.uploads import MediaKind
from tidegate.reminders.definition import (
    BegunTarget,
    Reminder,
    ReminderPart,
    ReminderPolicies,
    Targets,
    WhenClosed,
    WhenOverlapping,
)
from tidegate.reminders.reminder_parser import as_toml, as_written, kind_of, read_reminder
from tidegate.reminders.rules.schedule import Cron, Once
from tidegate.reminders.rules.send_states import WhenUnknown

FRIDAY = """
name = "Friday stock"
account = "shop"
targets = ["Group A", "120363041234567890@g.us"]
schedule = { cron = "0 9 * * FRI" }
timezone = "Asia/Kuala_Lumpur"
delivery_window_start_hour = 6
delivery_window_end_hour = 18
when_window_closes = "stop"
when_unknown = "hold"
when_fired_late = "stop"
begun_target = "finish"
when_overlapping = "queue"
[[parts]]
text = "Good morning {group}"
[[parts]]
media = "poster.jpg"
caption = "New prices"
"""


def test_the_contracts_own_example_is_read():
    """What the docs show works as it stands."""
    reminder = read_reminder(FRIDAY)
    assert reminder.schedule == Cron("0 9 * * FRI")
    assert reminder.window == SendWindow(6, 18, ZoneInfo("Asia/Kuala_Lumpur"))
    assert reminder.parts == [
        ReminderPart("Good morning {group}"),
        ReminderPart("New prices", "poster.jpg", MediaKind.PICTURE),
    ]
    assert reminder.policies == ReminderPolicies()


def test_little_is_needed():
    """Who to speak as, to whom, and what to say; hours and policies have the seed's defaults."""
    reminder = read_reminder('name="n"\naccount="a"\nall=true\n[[parts]]\ntext="hello"')
    assert (reminder.window.start_hour, reminder.window.end_hour) == (6, 18)
    assert reminder.schedule is None
    assert reminder.targets.everyone


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (('name = "Friday stock"', ""), "The reminder needs name."),
        (('name = "Friday stock"', 'name = ""'), "name cannot be ''"),
        (("targets =", "tragets ="), "tragets is nothing a reminder has"),
        (('targets = ["Group A", "120363041234567890@g.us"]', ""), "give exactly one of the three"),
        (('targets = ["Group A", "120363041234567890@g.us"]', "targets = []"), "would go to nobody"),
        (("account =", "all = true\naccount ="), "give exactly one of the three"),
        (("= 18", "= 6"), "Delivery hours run from 6 to 6"),
        (("= 18", "= 25"), "delivery_window_end_hour cannot be 25"),
        (("Asia/Kuala_Lumpur", "Asia/Atlantis"), 'no time zone "Asia/Atlantis"'),
        (("0 9 * * FRI", "0 9 * *"), "five fields"),
        (('cron = "0 9 * * FRI"', "at = 2026-12-01T09:00:00Z"), "leave the offset out"),
        (('cron = "0 9 * * FRI"', 'cron = "0 9 * * *", every = "day"'), "A schedule is one of"),
        (('cron = "0 9 * * FRI"', 'cron = "0 9 * * *", time = 07:30:00'), 'belong to a schedule with every = "…"'),
        (("{group}", "{grupo}"), "Part 1 has the placeholder {grupo}, which nothing fills"),
        (("{group}", "{group"), "a brace without its partner"),
        (("{group}", "{group.__class__}"), "which nothing fills"),
        (("{group}", "{group!r}"), "{group!r}, which nothing fills"),
        (("{group}", "{group:>99999999}"), "{group:>99999999}, which nothing fills"),
        (("{group}", "{group:{reminder}}"), "which nothing fills"),
        (('"Friday stock"', '"Friday stock "'), "name cannot be 'Friday stock '"),
        (('"Friday stock"', '"Friday\\u001b[31m"'), "characters that cannot stand there"),
        (("start_hour = 6", "start_hour = true"), "delivery_window_start_hour cannot be True"),
        (('targets = ["Group A", "120363041234567890@g.us"]', 'all = "yes"'), "all cannot be 'yes'"),
        (('cron = "0 9 * * FRI"', 'every = "day", time = 9'), "schedule.time cannot be 9"),
        (('cron = "0 9 * * FRI"', 'every = "day", time = "09:30+08:00"'), "on the reminder's own clock"),
        (('cron = "0 9 * * FRI"', "at = 1_800_000_000"), "schedule.at cannot be 1800000000"),
        (('cron = "0 9 * * FRI"', 'every = "day", on = "FRI"'), 'takes no "on"'),
        (('cron = "0 9 * * FRI"', 'every = "week", on = "FRY"'), 'A week has no day "FRY"'),
        (('cron = "0 9 * * FRI"', 'every = "month", on = 0'), 'A month has no day "0"'),
        (('text = "Good morning {group}"', 'text = "  "'), "Part 1 is empty"),
        (('text = "Good morning {group}"', ""), "Part 1 needs either a text or a media file"),
        (('media = "poster.jpg"', ""), "Part 2 needs either"),
        (('"hold"', '"guess"'), "when_unknown cannot be 'guess'"),
        (("Good morning {group}", "x" * 5_000), "4096 is the most"),
        (("[[parts]]", "[[parts"), "not valid TOML"),
    ],
)
def test_what_cannot_be_gets_a_sentence(change, told):
    """D-07, D-44: a mistake is told when the reminder is saved, with its place, and nothing is kept."""
    with pytest.raises(BadInput) as refused:
        read_reminder(FRIDAY.replace(*change))
    assert told in str(refused.value)


def test_every_mistake_is_told_at_once():
    """Nobody likes to mend a file one sentence at a time."""
    with pytest.raises(BadInput) as refused:
        read_reminder('{"account": 3, "parts": [], "colour": "red"}')
    assert len(str(refused.value).splitlines()) == 4


def test_a_mistake_is_told_once():
    """A part that cannot be is no reason to say that there are none."""
    with pytest.raises(BadInput) as refused:
        read_reminder(FRIDAY.replace('caption = "New prices"', 'kind = "audio"'))
    assert str(refused.value).splitlines() == [
        "parts.2.kind cannot be 'audio': input should be 'picture', 'video' or 'document'."
    ]


def test_a_file_as_windows_editors_write_it_is_read():
    """They begin it with a mark that nobody sees."""
    assert read_reminder("\ufeff" + FRIDAY) == read_reminder(FRIDAY)


def test_a_document_deeper_than_anybody_can_read_is_refused():
    """A sentence, and no traceback."""
    with pytest.raises(BadInput, match="lists within lists"):
        read_reminder('{"parts":' + "[" * 100_000)


@pytest.mark.parametrize("at", ["2026-12-01", '"2026-12-01"'])
def test_a_date_alone_is_meant_at_nine(at):
    """The contract: 09:00 when no time is given."""
    written = FRIDAY.replace('cron = "0 9 * * FRI"', f"at = {at}")
    assert read_reminder(written).schedule == Once(datetime(2026, 12, 1, 9))  # noqa: DTZ001 - as written


def test_broken_json_is_named_as_such():
    """What begins with a brace is meant as JSON."""
    with pytest.raises(BadInput, match="not valid JSON"):
        read_reminder('{"name": ')


def test_a_repeat_is_read_as_the_cron_line_it_means():
    """every = "week" with a time and a day."""
    text = FRIDAY.replace('cron = "0 9 * * FRI"', 'every = "week", on = "TUE", time = 07:30:00')
    assert read_reminder(text).schedule == Cron("30 7 * * TUE")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("A.JPG", MediaKind.PICTURE),
        ("clip.mp4", MediaKind.VIDEO),
        ("list.pdf", MediaKind.DOCUMENT),
        ("x", MediaKind.DOCUMENT),
    ],
)
def test_a_file_is_shown_by_the_ending_of_its_name(name, kind):
    """Unless the operator says otherwise."""
    assert kind_of(name) is kind


plain = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="{}\0"), min_size=1, max_size=40).filter(
    lambda text: bool(text.strip())
)
parts = st.one_of(
    plain.map(lambda text: ReminderPart(text + "{group}")),
    st.builds(ReminderPart, st.just("") | plain, plain, st.sampled_from(MediaKind)),
)
schedules = st.sampled_from([None, Cron("0 9 * * FRI"), Once(datetime(2026, 12, 1, 9, 30))])  # noqa: DTZ001 - as written
targets = st.one_of(
    st.lists(plain, min_size=1, max_size=3, unique=True).map(lambda names: Targets(tuple(names))),
    plain.map(lambda name: Targets(list_name=name)),
    st.just(Targets(everyone=True)),
)
policies = st.builds(
    ReminderPolicies,
    st.sampled_from(WhenClosed),
    st.sampled_from(WhenClosed),
    st.sampled_from(WhenUnknown),
    st.sampled_from(BegunTarget),
    st.sampled_from(WhenOverlapping),
)
names = st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"], exclude_characters="{}"), min_size=1, max_size=40)
reminders = st.builds(
    Reminder,
    names,
    plain,
    targets,
    st.lists(parts, min_size=1, max_size=3),
    st.builds(SendWindow, st.integers(0, 11), st.integers(12, 24), st.just(ZoneInfo("America/New_York"))),
    schedules,
    policies,
)


@given(reminder=reminders)
def test_what_is_written_out_reads_back_the_same(reminder):
    """TOML or JSON in, the same out, whatever characters people use."""
    assert read_reminder(json.dumps(as_written(reminder))) == reminder
    assert read_reminder(as_toml(reminder)) == reminder


keys = st.sampled_from(["name", "account", "targets", "parts", "schedule", "at", "cron", "text", "media"])
documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=6,
)


@given(document=st.dictionaries(keys, documents, max_size=5))
def test_any_document_is_read_or_refused_in_a_sentence(document):
    """Bad input never shows a traceback."""
    with pytest.raises(BadInput) as refused:
        read_reminder(json.dumps({**document, "junk": 1}))
    assert str(refused.value)
