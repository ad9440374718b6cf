"""The inputs of a reminder and its document: the one makes the other, and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.core.errors import BadInput
from tidegate.reminders.reminder_parser import as_written, parse_reminder
from tidegate.reminders.rules.schedule import Every
from tidegate.web.reminder_form_fields import WEEKDAYS, ReminderForm, form_of

texts = st.text(st.characters(blacklist_categories=["Cs", "Cc"], blacklist_characters="{}"), min_size=1, max_size=30)
named = texts.filter(lambda name: name.strip() == name and name)
messages = st.lists(st.tuples(texts.filter(str.strip), st.sampled_from(["", "poster.jpg"])), min_size=1, max_size=4)


@st.composite
def forms(draw: st.DrawFn) -> ReminderForm:
    hours = sorted(draw(st.sets(st.integers(0, 24), min_size=2, max_size=2)))
    parts = draw(messages)
    to = draw(st.sampled_from(["all", "list", "named"]))
    fires = draw(st.sampled_from(["repeat", "once", "cron", "hand"]))
    every = draw(st.sampled_from(Every))
    repeats = every if fires == "repeat" else None
    return ReminderForm(
        name=draw(named),
        account=draw(named),
        to=to,
        saved_list=draw(named) if to == "list" else "",
        group=draw(st.lists(named, min_size=1, max_size=5)) if to == "named" else [],
        text=[text for text, _ in parts],
        file=[file for _, file in parts],
        sha256=["ab" * 32 if file else "" for _, file in parts],
        fires=fires,
        every=every,
        time=f"{draw(st.integers(0, 23)):02}:{draw(st.integers(0, 59)):02}",
        weekday=draw(st.sampled_from(sorted(WEEKDAYS))) if repeats is Every.WEEK else "",
        day=str(draw(st.integers(1, 31))) if repeats is Every.MONTH else "",
        at="2026-12-01T09:00" if fires == "once" else "",
        cron=draw(st.sampled_from(["0 9 * * FRI", "*/5 * * * *", "0 9 L * *"])) if fires == "cron" else "",
        timezone=draw(st.sampled_from(["Asia/Kuala_Lumpur", "UTC"])),
        start_hour=hours[0],
        end_hour=hours[1],
    )


@given(forms())
def test_editing_shows_what_was_written(form: ReminderForm) -> None:
    """Made into a document, read back into the inputs and written again, it is the same reminder."""
    written = as_written(parse_reminder(form.document()))
    again = form_of(7, written, form.files)
    assert as_written(parse_reminder(again.document())) == written
    assert (again.reminder, again.files) == ("7", form.files)


def test_the_presets_are_the_seeds() -> None:
    """Every day at 09:00 within delivery hours from 6 to 18; nothing else has to be chosen."""
    form = ReminderForm(name="stock", account="shop", to="all", text=["Good morning"], file=[""], sha256=[""])
    written = as_written(parse_reminder(form.document()))
    assert written["schedule"] == {"cron": "0 9 * * *"}
    assert (written["delivery_window_start_hour"], written["delivery_window_end_hour"]) == (6, 18)


def test_a_simple_repeat_stays_one() -> None:
    """A cron line that a repeat means is shown as the repeat; any other as it is written."""
    shown = {}
    for line in ("30 8 * * MON-FRI", "0 9 * * FRI", "15 * * * *", "0 9 31 * *", "0 9 * 1 *"):
        written = {"name": "n", "account": "a", "all": True, "timezone": "UTC", "delivery_window_start_hour": 6,
                   "delivery_window_end_hour": 18, "parts": [{"text": "x"}], "schedule": {"cron": line}}  # fmt: skip
        form = form_of(1, written, {})
        shown[line] = (form.fires, form.every.value, form.time)
    assert shown == {
        "30 8 * * MON-FRI": ("repeat", "weekday", "08:30"),
        "0 9 * * FRI": ("repeat", "week", "09:00"),
        "15 * * * *": ("repeat", "hour", "09:15"),
        "0 9 31 * *": ("repeat", "month", "09:00"),
        "0 9 * 1 *": ("cron", "day", "09:00"),
    }


BELONGS = {
    "group": ("to", {"named"}, ["Group 1"]), "others": ("to", {"named"}, "Group 1"),
    "saved_list": ("to", {"list"}, "shops"), "at": ("fires", {"once"}, "2026-12-01T09:00"),
    "cron": ("fires", {"cron"}, "0 9 * * FRI"),
}  # fmt: skip


@given(form=forms(), given=st.sampled_from(sorted(BELONGS)))
def test_nothing_shown_on_the_screen_is_left_undone(form: ReminderForm, given: str) -> None:
    """An input that belongs to a choice which is not taken is refused with a sentence, never ignored: one ticked group
    with "All" chosen does not write to everybody."""
    choice, takes, value = BELONGS[given]
    contradicting = form.model_copy(update={given: value})
    if getattr(form, choice) in takes:
        contradicting.document()
    else:
        with pytest.raises(BadInput, match="You chose"):
            contradicting.document()


@given(form=forms(), given=st.sampled_from([("weekday", "FRI", Every.WEEK), ("day", "3", Every.MONTH)]))
def test_a_day_belongs_to_its_repeat(form: ReminderForm, given: tuple[str, str, Every]) -> None:
    """Friday chosen and "every day" left: it is refused, and does not fire daily."""
    name, value, every = given
    contradicting = form.model_copy(update={name: value})
    if form.fires == "repeat" and form.every is every:
        contradicting.document()
    else:
        with pytest.raises(BadInput, match="you chose"):
            contradicting.document()


def test_every_week_needs_its_weekday() -> None:
    """It is asked for, and not guessed."""
    form = ReminderForm(name="n", account="a", to="all", text=["x"], file=[""], sha256=[""], every=Every.WEEK)
    with pytest.raises(BadInput, match="day of the week"):
        form.document()


@given(forms())
def test_lines_are_stored_with_line_feeds_alone(form: ReminderForm) -> None:
    """A browser sends CR and LF; a message has LF."""
    sent = form.model_copy(update={"text": [f"{text}\r\nmore" for text in form.text]})
    for text, (before, _, _) in zip(sent.parts, form.parts, strict=True):
        assert text[0] == f"{before}\nmore"


WRONG = {
    "name": {"name": " "}, "message-text": {"text": ["{nothing}"]}, "cron": {"fires": "cron", "cron": "soon"},
    "at": {"fires": "once", "at": ""}, "timezone": {"timezone": "Mars"}, "find-group": {"to": "named"},
    "saved-list": {"to": "list"}, "weekday": {"every": Every.WEEK}, "day": {"every": Every.MONTH},
    "start-hour": {"start_hour": 9, "end_hour": 9},
}  # fmt: skip


@pytest.mark.parametrize("field", sorted(WRONG))
def test_the_input_that_is_wrong_is_found(field: str) -> None:
    """The page leads to it; where all are right, to none."""
    right = {"name": "n", "account": "a", "to": "all", "text": ["x"], "file": [""], "sha256": [""]}
    assert ReminderForm.model_validate(right).faulty_field() == ""
    assert ReminderForm.model_validate({**right, **WRONG[field]}).faulty_field() == field
