"""``tidegate settings``: value, source and meaning of each, secrets hidden."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.program import tidegate
from tidegate.settings import Settings

DSN = "postgresql://keeper:hunter2@127.0.0.1/tide"


def test_every_setting_is_shown_with_its_source(tmp_path: Path) -> None:
    """One object a setting, in the order of the documentation."""
    (tmp_path / "tidegate.toml").write_text("seats = 5")
    done = tidegate("settings", "--json", home=tmp_path, BOT_MAX_SEND_PER_MINUTE="30")
    shown = {row["setting"]: row for row in json.loads(done.stdout)}
    assert list(shown) == list(Settings.model_fields)
    assert all(row["meaning"] for row in shown.values())
    assert (shown["seats"]["value"], shown["seats"]["source"]) == (5, str(tmp_path / "tidegate.toml"))
    assert (shown["max_send_per_minute"]["value"], shown["max_send_per_minute"]["source"]) == (
        30,
        "BOT_MAX_SEND_PER_MINUTE",
    )
    assert (shown["time_out"]["value"], shown["time_out"]["source"]) == ("15s", "default")


def test_secrets_are_hidden(tmp_path: Path) -> None:
    """Whether a secret is set is shown, and from where; never what it is."""
    for arguments in (["settings"], ["settings", "--json"]):
        done = tidegate(*arguments, home=tmp_path, DATABASE_URL=DSN, TIDEGATE_KEY="k1:c2VjcmV0")
        assert done.returncode == 0
        assert "DATABASE_URL" in done.stdout
        assert "hunter2" not in done.stdout + done.stderr
        assert "c2VjcmV0" not in done.stdout + done.stderr


def test_people_get_a_table(tmp_path: Path) -> None:
    """A line a setting with its meaning beside it."""
    done = tidegate("settings", home=tmp_path)
    assert "How long a worker may be silent" in done.stdout
    assert done.stderr == ""
