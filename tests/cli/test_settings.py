"""``tidegate settings``: value, source and meaning of each, secrets hidden."""

from __future__ import annotations

import json
import os
import pwd
from pathlib import Path

import pytest

from tests.cli.program import tidegate
from tidegate.app.settings import Settings
from tidegate.core.files.trusted_files import make_folder

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


@pytest.mark.parametrize(
    "command",
    [
        "settings", "serve", "worker", "web", "db url", "db upgrade", "db backup x.dump", "db restore x.dump",
        "db rekey", "db move postgresql://db/x", "account list", "channel list", "reminder list", "runs list",
        "token list", "feed", "calls", "search dragon", "archive list", "plan",
    ],
)  # fmt: skip
def test_no_command_starts_on_settings_that_others_can_change(empty_home: Path, command: str) -> None:
    """A sentence and exit code 2; no empty database is opened in their place."""
    work, data = empty_home / "work here", empty_home / "data"
    make_folder(work, 0o777)
    (work / "tidegate.toml").write_text("seats = 5")
    done = tidegate(*command.split(), home=work, TIDEGATE_HOME=str(data))
    assert done.returncode == 2
    assert done.stderr == (
        f"The settings file {work}/tidegate.toml is not trusted: others may write to the folder {work} "
        f"(owner {pwd.getpwuid(os.geteuid()).pw_name}, mode 0777). Run: chmod go-w '{work}'\n"
    )
    assert done.stdout == ""
    assert not data.exists()


def test_the_sentence_says_where_a_key_belongs(empty_home: Path) -> None:
    """Who kept it in the working folder until now is told what to do, and no key is made in the meantime."""
    work, data = empty_home / "work here", empty_home / "data"
    make_folder(work, 0o755)
    (work / "tidegate.toml").write_text('key = "k1:c2VjcmV0"')
    done = tidegate("settings", home=work, TIDEGATE_HOME=str(data))
    assert done.returncode == 2
    assert done.stderr == (
        f"key in {work}/tidegate.toml is refused: a file of the working folder sets nothing that is secret or says "
        f"where secrets go. Set TIDEGATE_KEY in the environment, or put it into {data}/tidegate.toml.\n"
    )
