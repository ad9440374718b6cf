"""Logs: one form for people, one for machines, secrets in neither."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from tidegate import logs
from tidegate.setting_kinds import LogFormat, LogLevel

SECRET = "hunter2-hunter2"


@pytest.fixture(autouse=True)
def _put_logging_back() -> Iterator[None]:
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    yield
    root.handlers[:] = before
    root.setLevel(level)
    structlog.reset_defaults()


def lines(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_machine_reads_json() -> None:
    """Away from a terminal every line is one JSON object with level, time and the given values."""
    logs.set_up(stream=(stream := io.StringIO()))
    structlog.get_logger("tidegate.engine").info("took an account", account=7)
    [line] = lines(stream)
    assert line.pop("at")
    assert line == {"event": "took an account", "account": 7, "level": "info", "logger": "tidegate.engine"}


def test_people_read_lines() -> None:
    """The people's form is text with the same values, without colour codes where there is no terminal."""
    logs.set_up(form=LogFormat.PEOPLE, stream=(stream := io.StringIO()))
    structlog.get_logger().warning("lane paused", account="shop")
    assert "lane paused" in stream.getvalue()
    assert "account=shop" in stream.getvalue()
    assert "\x1b" not in stream.getvalue()


def test_libraries_come_out_the_same_door() -> None:
    """What asyncpg, uvicorn or alembic log through the standard library has the same form and the same mask."""
    logs.set_up(stream=(stream := io.StringIO()))
    logging.getLogger("uvicorn.error").error("cannot reach %s", f"postgresql://keeper:{SECRET}@db/tide")
    [line] = lines(stream)
    assert line["event"] == f"cannot reach postgresql://keeper:{logs.HIDDEN}@db/tide"
    assert (line["level"], line["logger"]) == ("error", "uvicorn.error")


def test_chatty_libraries_are_heard_from_warnings_up() -> None:
    """Routine lines of alembic and the like would bury ours."""
    logs.set_up(LogLevel.DEBUG, stream=(stream := io.StringIO()))
    logging.getLogger("alembic.runtime.migration").info("Will assume transactional DDL.")
    logging.getLogger("alembic.runtime.migration").warning("odd")
    assert [line["event"] for line in lines(stream)] == ["odd"]


def test_lines_below_the_level_are_not_written() -> None:
    """The level is the least important line that is written."""
    logs.set_up(LogLevel.WARNING, stream=(stream := io.StringIO()))
    structlog.get_logger().info("not this")
    structlog.get_logger().warning("this")
    assert [line["event"] for line in lines(stream)] == ["this"]


@pytest.mark.parametrize("form", [LogFormat.JSON, LogFormat.PEOPLE])
def test_secrets_are_hidden_wherever_they_stand(form: LogFormat) -> None:
    """By name, by type, inside addresses, nested, bound earlier, and in the text of an exception."""
    logs.set_up(form=form, stream=(stream := io.StringIO()))
    log = structlog.get_logger().bind(token=SECRET)
    try:
        raise ConnectionError(f"postgres://me:{SECRET}@db/x refused")  # noqa: TRY301 - an exception to log
    except ConnectionError:
        log.exception(
            "failed",
            password=SECRET,
            api_key=SECRET,
            settings={"database_url": SecretStr(SECRET), "discord_token": SECRET, "deep": [{"client_secret": SECRET}]},
            sealed=SECRET.encode(),
        )
    assert "ConnectionError" in stream.getvalue()
    assert SECRET not in stream.getvalue()


def test_what_is_no_secret_stays_readable() -> None:
    """A mask that hides too much makes logs useless."""
    line = logs.mask(
        None, "info", {"event": "sent", "account": "shop", "send_key": "a1", "url": "http://127.0.0.1:8742/x"}
    )
    assert line == {"event": "sent", "account": "shop", "send_key": "a1", "url": "http://127.0.0.1:8742/x"}


json_like = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=5)
    | st.just(SecretStr(SECRET))
    | st.binary(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)


@given(st.dictionaries(st.text(max_size=8), json_like, max_size=4))
def test_any_line_can_be_masked_and_written(event: dict[str, object]) -> None:
    """No value anybody logs makes a line fail or lets a typed secret through."""
    written = json.dumps(logs.mask(None, "info", event))
    assert SECRET not in written
