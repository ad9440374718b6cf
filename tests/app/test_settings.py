"""Settings: where values come from, which win, and how a bad one is refused."""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr, ValidationError

from tests.users import as_plain_user, as_root, give
from tidegate.app.setting_sources import DEFAULT, LEADS_SECRETS, LoadedSettings, allowed, is_secret, load, variables
from tidegate.app.setting_types import LogFormat
from tidegate.app.settings import Settings
from tidegate.core.account import Standing
from tidegate.core.errors import BadInput
from tidegate.core.files.trusted_files import NotTrusted, make_folder
from tidegate.core.platform import Platform, registered_platforms
from tidegate.platforms.discord import DISCORD
from tidegate.platforms.telegram import TELEGRAM
from tidegate.platforms.whatsapp import WHATSAPP

SEEDS = {
    # name in the seed: (the setting it became, the seed's default as the seed writes it)
    "WORKER_SKIP_RECENT_SCAN_WINDOW_MS": ("fresh_for", "300000"),
    "WORKER_EMPTY_SCAN_BACKOFF_THRESHOLD": ("cold_after_empty_scans", "5"),
    "WORKER_EMPTY_SCAN_BACKOFF_EVERY_NTH": ("cold_every_nth_cycle", "5"),
    "BACKFILL_CONCURRENCY": ("backfill_concurrency", "2"),
    "BACKFILL_MAX_ITERATIONS": ("backfill_max_iterations", "10"),
    "BACKFILL_PARALLEL_BATCHES": ("backfill_parallel_batches", "3"),
    "BACKFILL_MAX_FETCH_LIMIT": ("backfill_max_fetch_limit", "1000"),
    "MESSAGE_SYNC_LIMIT": ("message_sync_limit", "200"),
    "CONTEXT_AGENT_MAX_MESSAGES": ("context_agent_max_messages", "50000"),
    "BOT_FIRE_CONCURRENCY": ("fire_concurrency", "8"),
    "BOT_GROUP_CONCURRENCY": ("group_concurrency", "3"),
    "BOT_MAX_SEND_PER_MINUTE": ("max_send_per_minute", "40"),
}
DSN = "postgresql://keeper:hunter2@127.0.0.1/tide"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def loading(environment: Mapping[str, str], folder: Path, toml: str | None = None) -> LoadedSettings:
    if toml is not None:
        (folder / "tidegate.toml").write_text(toml)
    return load({"TIDEGATE_HOME": str(folder / "home"), **environment}, folder=folder)


def refusal(environment: Mapping[str, str], folder: Path, toml: str | None = None) -> str:
    with pytest.raises(BadInput) as refused:
        loading(environment, folder, toml)
    return str(refused.value)


class TestSeedNames:
    @pytest.mark.parametrize(("name", "setting", "default"), [(name, *became) for name, became in SEEDS.items()])
    def test_a_seeds_default_is_ours(self, name: str, setting: str, default: str, folder: Path) -> None:
        """Whoever sets a seed's variable to the seed's own default changes nothing.

        Only the ceiling of backfill binds no longer by default: limits themselves decide.
        """
        loaded = loading({name: default}, folder)
        ours = getattr(Settings(), setting)
        assert ours is None if name == "BACKFILL_CONCURRENCY" else getattr(loaded.settings, setting) == ours
        assert loaded.sources[setting] == name

    @pytest.mark.parametrize("name", SEEDS)
    @pytest.mark.parametrize("value", ["0", "-1", "many", "nan", "1.5.2"])
    def test_a_seeds_knob_refuses_what_is_no_count(self, name: str, value: str, folder: Path) -> None:
        """Zero, negatives and words are refused in a sentence that names the variable as it was written."""
        sentence = refusal({name: value}, folder)
        assert sentence.startswith(f"{name} cannot be '{value}': it must be a ")

    def test_the_scan_window_counts_milliseconds_under_its_seed_name_only(self, folder: Path) -> None:
        """The seed's unit belongs to the seed's name; ours is a span."""
        assert loading({"WORKER_SKIP_RECENT_SCAN_WINDOW_MS": "1500"}, folder).settings.fresh_for == timedelta(
            seconds=1.5
        )
        assert loading({"TIDEGATE_FRESH_FOR": "1500"}, folder).settings.fresh_for == timedelta(seconds=1500)


class TestWhichWins:
    def test_the_environment_beats_the_file_and_the_file_the_default(self, folder: Path) -> None:
        """Strongest first: environment, file, default; and each value says which it was."""
        loaded = loading({"TIDEGATE_SEATS": "7"}, folder, "seats = 5\nweb_port = 99")
        assert (loaded.settings.seats, loaded.sources["seats"]) == (7, "TIDEGATE_SEATS")
        assert (loaded.settings.web_port, loaded.sources["web_port"]) == (99, str(folder / "tidegate.toml"))
        assert (loaded.settings.time_out, loaded.sources["time_out"]) == (timedelta(seconds=15), DEFAULT)

    def test_a_seeds_name_beats_the_file(self, folder: Path) -> None:
        """A seed's variable is an environment name like any other."""
        assert (
            loading({"BOT_MAX_SEND_PER_MINUTE": "9"}, folder, "max_send_per_minute = 8").settings.max_send_per_minute
            == 9
        )

    def test_two_names_may_agree(self, folder: Path) -> None:
        """The same value under two names, each in its own unit, is no contradiction."""
        environment = {"TIDEGATE_FRESH_FOR": "5m", "WORKER_SKIP_RECENT_SCAN_WINDOW_MS": "300000"}
        assert loading(environment, folder).settings.fresh_for == timedelta(minutes=5)

    def test_two_names_that_disagree_are_refused(self, folder: Path) -> None:
        """Nobody can know which one was meant, so neither is taken."""
        sentence = refusal({"TIDEGATE_MAX_SEND_PER_MINUTE": "30", "BOT_MAX_SEND_PER_MINUTE": "40"}, folder)
        assert sentence == (
            "TIDEGATE_MAX_SEND_PER_MINUTE and BOT_MAX_SEND_PER_MINUTE are two names of one setting with different "
            "values ('30' and '40'); keep one of them."
        )

    def test_two_database_addresses_are_refused_without_showing_them(self, folder: Path) -> None:
        """A secret stays one even when it is wrong."""
        sentence = refusal({"TIDEGATE_DATABASE_URL": DSN, "DATABASE_URL": DSN + "s"}, folder)
        assert "DATABASE_URL" in sentence
        assert "hunter2" not in sentence

    def test_an_empty_variable_counts_as_not_set(self, folder: Path) -> None:
        """Service files often pass empty variables on."""
        assert loading({"TIDEGATE_SEATS": " ", "DATABASE_URL": ""}, folder).settings.database_url is None

    def test_the_file_of_the_working_folder_comes_before_the_one_at_home(self, folder: Path) -> None:
        """And a named one is read in place of both."""
        (folder / "home").mkdir()
        (folder / "home" / "tidegate.toml").write_text("seats = 1")
        assert loading({}, folder).settings.seats == 1
        assert loading({}, folder, "seats = 2").settings.seats == 2
        (folder / "named.toml").write_text("seats = 3")
        assert loading({"TIDEGATE_CONFIG": str(folder / "named.toml")}, folder).settings.seats == 3


class TestTrust:
    @pytest.mark.parametrize("mode", [0o664, 0o646, 0o666])
    @pytest.mark.parametrize("where", ["work", "home", "named"])
    def test_a_file_that_others_may_write_is_refused(self, folder: Path, where: str, mode: int) -> None:
        """Wherever it lies; it is refused and never just passed over."""
        make_folder(folder / "home", 0o700)
        file = {"work": folder, "home": folder / "home", "named": folder / "home"}[where] / "tidegate.toml"
        file.write_text("seats = 2")
        file.chmod(mode)
        environment = {"TIDEGATE_CONFIG": str(file)} if where == "named" else {}
        assert f"others may write to it (owner {pwd.getpwuid(os.geteuid()).pw_name}, mode {mode:04o}). Run: chmod " in (
            refusal(environment, folder)
        )

    @as_root
    @pytest.mark.parametrize("where", ["work", "home", "named"])
    @pytest.mark.parametrize("planted", ["file", "folder"])
    def test_what_another_user_planted_is_refused(self, folder: Path, where: str, planted: str) -> None:
        """With the owner and what to do about it; a key or database of theirs is never used."""
        inside = {"work": folder / "work", "home": folder / "home", "named": folder / "named"}[where]
        make_folder(inside, 0o755)
        file = inside / "tidegate.toml"
        file.write_text("seats = 2")
        give(file if planted == "file" else inside)
        environment = {"TIDEGATE_HOME": str(folder / "home")}
        if where == "named":
            environment["TIDEGATE_CONFIG"] = str(file)
        with pytest.raises(NotTrusted, match=r"another user owns .*\(owner nobody, mode 0"):
            load(environment, folder=inside if where == "work" else folder)

    def test_a_data_folder_that_others_may_write_to_is_refused(self, folder: Path) -> None:
        """Key, database and programs are believed from there; also where it holds no settings."""
        make_folder(folder / "home", 0o777)
        assert refusal({}, folder).startswith(f"The data folder {folder}/home is not trusted: others may write to it")

    @pytest.mark.parametrize(
        "name", [name for name in Settings.model_fields if is_secret(name) or name in LEADS_SECRETS]
    )
    def test_the_working_folder_sets_no_secret_and_leads_none_away(self, folder: Path, name: str) -> None:
        """What was unpacked there may hold a file too; the sentence says where else to put it, and not the value."""
        sentence = refusal({}, folder, f'{name} = "https://hunter2.example"')
        assert sentence.startswith(f"{name} in {folder}/tidegate.toml is refused: ")
        assert f"Set {variables(name)[0].name} in the environment" in sentence
        assert (f"or put it into {folder}/home/tidegate.toml" in sentence) == (name != "home")
        assert "hunter2" not in sentence

    def test_every_secret_among_them_is_named(self, folder: Path) -> None:
        """Who kept several there hears of all of them at once."""
        lines = refusal({}, folder, f'seats = 3\nkey = "k1:AAAA"\ndatabase_url = "{DSN}"').splitlines()
        assert [line.split()[0] for line in lines] == ["key", "database_url"]

    def test_the_data_folder_and_a_named_file_set_anything(self, folder: Path) -> None:
        """These were chosen by whoever runs Tidegate."""
        make_folder(folder / "home", 0o700)
        (folder / "home" / "tidegate.toml").write_text(f'database_url = "{DSN}"')
        assert loading({}, folder).settings.database_url == SecretStr(DSN)
        (folder / "named.toml").write_text(f'database_url = "{DSN}"\nhome = "{folder}/elsewhere"')
        settings = loading({"TIDEGATE_CONFIG": str(folder / "named.toml"), "TIDEGATE_HOME": ""}, folder).settings
        assert (settings.database_url, settings.home) == (SecretStr(DSN), folder / "elsewhere")

    def test_both_files_count(self, folder: Path) -> None:
        """A working folder's file does not hide the database address in the data folder's."""
        make_folder(folder / "home", 0o700)
        (folder / "home" / "tidegate.toml").write_text(f'database_url = "{DSN}"\nseats = 1\nweb_port = 7')
        loaded = loading({}, folder, "seats = 2")
        assert (loaded.settings.database_url, loaded.settings.seats, loaded.settings.web_port) == (SecretStr(DSN), 2, 7)
        assert loaded.sources["seats"] == str(folder / "tidegate.toml")
        assert loaded.sources["web_port"] == str(folder / "home" / "tidegate.toml")

    def test_a_working_folder_that_is_the_data_folder_sets_anything(self, folder: Path) -> None:
        """Its file is the data folder's, also when a link leads there."""
        (folder / "link").symlink_to(folder)
        (folder / "tidegate.toml").write_text(f'database_url = "{DSN}"')
        for home in (folder, folder / "link"):
            loaded = load({"TIDEGATE_HOME": str(home)}, folder=folder)
            assert loaded.settings.database_url == SecretStr(DSN)

    def test_a_file_with_a_secret_that_others_may_read_is_told(self, folder: Path) -> None:
        """It is believed, and everybody on the machine knows the secret."""
        make_folder(folder / "home", 0o700)
        file = folder / "home" / "tidegate.toml"
        file.write_text(f'database_url = "{DSN}"')
        file.chmod(0o644)
        assert loading({}, folder).warnings == (
            f"Others may read {file}, which holds database_url. Run: chmod 600 {file}",
        )
        file.chmod(0o600)
        assert loading({}, folder).warnings == ()

    @pytest.mark.parametrize("where", ["work", "home"])
    def test_a_link_to_nothing_is_refused(self, folder: Path, where: str) -> None:
        """Somebody wanted a file to be read there."""
        make_folder(folder / "home", 0o700)
        {"work": folder, "home": folder / "home"}[where].joinpath("tidegate.toml").symlink_to("moved.toml")
        assert "is a link that leads to nothing" in refusal({}, folder)

    def test_a_named_pipe_holds_nobody_up(self, folder: Path) -> None:
        """Whoever reads it would wait for a writer for ever."""
        os.mkfifo(folder / "tidegate.toml", 0o600)
        assert "it is a named pipe, not a file" in refusal({}, folder)

    @as_root
    def test_a_working_folder_closed_to_this_user_is_told(self, test_folder: Path) -> None:
        """As after sudo -u from root's home: it works, and says that no settings are read there."""
        closed = test_folder / f"closed-{os.getpid()}"
        make_folder(closed, 0o700)
        loaded = as_plain_user(lambda: load({"TIDEGATE_HOME": "/nowhere"}, folder=closed).warnings)
        assert loaded == (
            f"The settings file {closed}/tidegate.toml cannot be reached through {closed}: Permission denied. "
            "No settings are read there.",
        )
        closed.rmdir()


class TestRefusals:
    def test_a_bad_value_in_the_file_names_the_file(self, folder: Path) -> None:
        """The sentence names key, file, value and what is allowed."""
        assert refusal({}, folder, 'time_out = "1s"') == (
            f"time_out in {folder}/tidegate.toml cannot be '1s': it must be a span from 3s to 1h."
        )

    def test_each_bad_value_gets_its_sentence(self, folder: Path) -> None:
        """An operator with two mistakes hears of both at once."""
        lines = refusal({"TIDEGATE_SEATS": "0", "TIDEGATE_WEB_PORT": "70000"}, folder).splitlines()
        assert [line.split()[0] for line in lines] == ["TIDEGATE_SEATS", "TIDEGATE_WEB_PORT"]

    def test_an_unknown_key_in_the_file_names_the_nearest_known_one(self, folder: Path) -> None:
        """A misspelt key is refused, since it would be ignored silently."""
        sentence = refusal({}, folder, "seets = 5")
        assert sentence == f"seets in {folder}/tidegate.toml is not a setting (perhaps seats was meant)."

    def test_an_unknown_variable_is_a_warning(self, folder: Path) -> None:
        """Other programs and other versions may share the environment, so it is said and nothing more."""
        loaded = loading({"TIDEGATE_SEAT": "5"}, folder)
        assert loaded.warnings == (
            "The variable TIDEGATE_SEAT is not a setting and has no effect (perhaps TIDEGATE_SEATS was meant).",
        )

    def test_a_burst_above_the_pace_is_a_warning(self, folder: Path) -> None:
        """D-13: with a burst of 5 a minute may hold 44, and platforms count minutes. A burst of 1 needs none."""
        loaded = loading({"TIDEGATE_SEND_BURST": "5"}, folder)
        assert loaded.warnings == (
            "send_burst is 5: an account that rested sends 5 messages at once, so in that minute more than "
            "max_send_per_minute. Platforms take that for spam sooner than a steady pace; 1 is the safe value.",
        )
        assert loading({"TIDEGATE_SEND_BURST": "1"}, folder).warnings == ()

    @pytest.mark.parametrize(
        ("toml", "said"),
        [("seats = ", "is not valid TOML"), ("seats = true", "cannot be True"), ("[seats]\nmany = 1", "cannot be {")],
    )
    def test_a_file_that_says_nothing_sensible_is_refused(self, toml: str, said: str, folder: Path) -> None:
        """Broken TOML and values of the wrong kind are sentences, not tracebacks."""
        assert said in refusal({}, folder, toml)

    def test_a_file_that_is_not_text_is_refused(self, folder: Path) -> None:
        """A binary file under the settings' name is named and refused."""
        (folder / "tidegate.toml").write_bytes(b"\xff\xfe\x00")
        assert "is not UTF-8 text" in refusal({}, folder)

    def test_a_named_file_must_exist(self, folder: Path) -> None:
        """Whoever names a file wants it read."""
        assert "does not exist" in refusal({"TIDEGATE_CONFIG": str(folder / "none.toml")}, folder)
        assert "cannot be read" in refusal({"TIDEGATE_CONFIG": str(folder)}, folder)

    def test_a_bad_secret_is_refused_without_showing_it(self, folder: Path) -> None:
        """Law: a secret is never shown, also not to say that it is wrong."""
        (folder / "named.toml").write_text("key = 1234567")
        sentence = refusal({"TIDEGATE_CONFIG": str(folder / "named.toml")}, folder)
        assert "key" in sentence
        assert "1234567" not in sentence

    def test_the_ledger_is_kept_long_enough_for_the_daily_cap(self, folder: Path) -> None:
        """The daily cap counts ledger rows: pruning them earlier would let an account send above it."""
        assert "daily cap" in refusal({"TIDEGATE_KEEP_CALLS_FOR": "12h"}, folder)

    @given(
        st.sampled_from(list(Settings.model_fields)),
        st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
    )
    def test_any_text_is_taken_or_refused_in_a_sentence(self, name: str, text: str) -> None:
        """No value of any variable makes the reader fail in another way."""
        variable = variables(name)[0].name
        try:
            load({variable: text}, folder=Path("/nonexistent"))
        except BadInput as refused:
            assert str(refused).startswith(f"{variable} cannot be ")  # noqa: PT017 - either way is right
            assert str(refused).endswith(f"it must be {allowed(name)}.")  # noqa: PT017


class TestValues:
    def test_settings_cannot_be_changed_or_invented(self) -> None:
        """One object for the whole life of the process, with known names only."""
        with pytest.raises(ValidationError):
            Settings().seats = 3  # type: ignore[misc]
        with pytest.raises(ValidationError):
            Settings(seets=3)  # type: ignore[call-arg]

    def test_defaults_look_nowhere(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """`Settings()` is the same everywhere; only `load` reads the environment."""
        monkeypatch.setenv("TIDEGATE_SEATS", "3")
        monkeypatch.setenv("SEATS", "3")
        assert Settings().seats == 1_000

    def test_secrets_do_not_show(self) -> None:
        """A settings object in a log or an error shows no secret."""
        settings = Settings(database_url=DSN, key="k1:c2VjcmV0")  # type: ignore[arg-type]
        assert "hunter2" not in f"{settings!r} {settings}"
        assert "c2VjcmV0" not in f"{settings!r} {settings}"
        assert {name for name in Settings.model_fields if is_secret(name)} == {
            "database_url",
            "database_direct_url",
            "key",
            "media_key",
            "media_secret",
            "telegram_api_hash",
        }

    def test_every_setting_says_what_it_is_for(self) -> None:
        """A meaning that ends as a sentence, and what its value must be."""
        for name, field in Settings.model_fields.items():
            assert (field.description or "").endswith("."), name
            assert allowed(name), name

    def test_the_data_folder_of_a_user_follows_xdg(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """XDG_DATA_HOME when it is absolute, else ~/.local/share; root has /var/lib/tidegate."""
        monkeypatch.setattr("os.geteuid", lambda: 1000)
        monkeypatch.setenv("HOME", "/home/ann")
        monkeypatch.setenv("XDG_DATA_HOME", "/data")
        assert Settings().home == Path("/data/tidegate")
        monkeypatch.setenv("XDG_DATA_HOME", "relative")
        assert Settings().home == Path("/home/ann/.local/share/tidegate")
        monkeypatch.setattr("os.geteuid", lambda: 0)
        assert Settings().home == Path("/var/lib/tidegate")

    def test_a_tilde_means_the_users_home(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Service files and TOML have no shell that would expand it."""
        monkeypatch.setenv("HOME", "/home/ann")
        assert Settings(home=Path("~/tide")).home == Path("/home/ann/tide")

    @pytest.mark.parametrize("host", ["ann's laptop", "…", "-x-", "a" * 300, ""])
    def test_any_host_name_makes_a_worker_name(self, host: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """The default name is one that is allowed, whatever the machine is called."""
        monkeypatch.setattr("socket.gethostname", lambda: host)
        assert Settings().worker_name

    @given(st.sampled_from(registered_platforms()), st.sampled_from(Standing), st.integers(1, 1000))
    def test_no_pace_is_above_the_operators_limit(self, platform: Platform, standing: Standing, limit: int) -> None:
        """never-above-the-pace: a standing makes an account slower than the limit, never faster."""
        assert Settings(max_send_per_minute=limit).sends_per_minute(platform, standing) <= limit

    def test_whatsapp_is_paced_by_standing(self) -> None:
        """4, 12 and 40 a minute; the other platforms know no standing."""
        paces = [Settings().sends_per_minute(WHATSAPP, standing) for standing in Standing]
        assert paces == [4, 12, 40]
        assert Settings().sends_per_minute(TELEGRAM, Standing.NEW) == 40

    def test_a_silent_owner_of_a_telegram_account_keeps_it_longer(self) -> None:
        """Ten minutes for Telegram, the time-out for the others, and never less than the time-out.

        Invariant: one-owner-per-account.
        """
        settings = Settings(time_out=timedelta(seconds=20))
        assert settings.silent_takeover_for(TELEGRAM) == timedelta(minutes=10)
        assert settings.silent_takeover_for(DISCORD) == timedelta(seconds=20)
        short = Settings(telegram_silent_takeover_for=timedelta(seconds=1))
        assert short.silent_takeover_for(TELEGRAM) == short.time_out

    def test_switches_and_choices_are_read_from_text(self, folder: Path) -> None:
        """The environment holds only text."""
        settings = loading({"TIDEGATE_WARM_UP": "no", "TIDEGATE_LOG_FORMAT": "json"}, folder).settings
        assert (settings.warm_up, settings.log_format) == (False, LogFormat.JSON)
