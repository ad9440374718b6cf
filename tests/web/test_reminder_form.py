"""The inputs of a reminder and its document: the one makes the other, and back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tidegate.reminders.written import as_written, checked
from tidegate.rules.scheduling import Every
from tidegate.web.reminder_form import WEEKDAYS, ReminderForm, form_of

texts = st.text(st.characters(blacklist_categories=["Cs", "Cc"], blacklist_characters="{}"), min_size=1, max_size=30)
named = texts.filter(lambda name: name.strip() == name and name)
messages = st.lists(st.tuples(texts.filter(str.strip), st.sampled_from(["", "poster.jpg"])), min_size=1, max_size=4)


@st.composite
def forms(draw: st.DrawFn) -> ReminderForm:
    hours = sorted(draw(st.sets(st.integers(0, 24), min_size=2, max_size=2)))
    parts = draw(messages)
    return ReminderForm(
        name=draw(named),
        account=draw(named),
        to=draw(st.sampled_from(["all", "list", "named"])),
        saved_list=draw(named),
        group=draw(st.lists(named, min_size=1, max_size=5)),
        text=[text for text, _ in parts],
        file=[file for _, file in parts],
        sha256=["ab" * 32 if file else "" for _, file in parts],
        fires=draw(st.sampled_from(["repeat", "once", "cron", "hand"])),
        every=draw(st.sampled_from(Every)),
        time=f"{draw(st.integers(0, 23)):02}:{draw(st.integers(0, 59)):02}",
        weekday=draw(st.sampled_from(WEEKDAYS)),
        day=str(draw(st.integers(1, 31))),
        at="2026-12-01T09:00",
        cron=draw(st.sampled_from(["0 9 * * FRI", "*/5 * * * *", "0 9 L * *"])),
        timezone=draw(st.sampled_from(["Asia/Kuala_Lumpur", "UTC"])),
        start_hour=hours[0],
        end_hour=hours[1],
    )


@given(forms())
def test_editing_shows_what_was_written(form: ReminderForm) -> None:
    """Made into a document, read back into the inputs and written again, it is the same reminder."""
    written = as_written(checked(form.document()))
    again = form_of(7, written, form.files)
    assert as_written(checked(again.document())) == written
    assert (again.reminder, again.files) == ("7", form.files)


def test_the_presets_are_the_seeds() -> None:
    """Every day at 09:00 within delivery hours from 6 to 18; nothing else has to be chosen."""
    form = ReminderForm(name="stock", account="shop", to="all", text=["Good morning"], file=[""], sha256=[""])
    written = as_written(checked(form.document()))
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
