"""Logs: one form for people, one for machines, secrets in neither."""

from __future__ import annotations

import io
import json
import logging
import os
import warnings
from collections.abc import Callable
from datetime import timedelta

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from tests.held import NOON
from tests.hostile_text import OWN_CODES, QUIET_ATTACK, dangers_in
from tidegate.app import logs
from tidegate.app.setting_types import LogFormat, LogLevel
from tidegate.core.clock import HeldClock
from tidegate.core.terminal import GuardedStream

SECRET = "hunter2-hunter2"


pytestmark = pytest.mark.usefixtures("own_logging")


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
    """What asyncpg or uvicorn log through the standard library has the same form and the same mask."""
    logs.set_up(stream=(stream := io.StringIO()))
    logging.getLogger("uvicorn.error").error("cannot reach %s", f"postgresql://keeper:{SECRET}@db/tide")
    [line] = lines(stream)
    assert line["event"] == f"cannot reach postgresql://keeper:{logs.HIDDEN}@db/tide"
    assert (line["level"], line["logger"]) == ("error", "uvicorn.error")


def test_chatty_libraries_are_heard_from_warnings_up() -> None:
    """Routine lines of Telethon and the like would mark_deleted ours."""
    logs.set_up(LogLevel.DEBUG, stream=(stream := io.StringIO()))
    logging.getLogger("telethon.network").info("Connecting")
    logging.getLogger("telethon.network").warning("odd")
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


@pytest.mark.parametrize("form", [LogFormat.JSON, LogFormat.PEOPLE])
def test_credentials_in_a_header_are_hidden(form: LogFormat) -> None:
    """The error of a proxy may hold the request with its headers, in the text of an exception."""
    logs.set_up(form=form, stream=(stream := io.StringIO()))
    known = "cmVhZGVyOmh1bnRlcjI="
    structlog.get_logger().warning("refused", problem=f"headers={{'Proxy-Authorization': 'Basic {known}'}}, status=407")
    assert known not in stream.getvalue()
    assert "status=407" in stream.getvalue()


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


HOSTILE = f"{QUIET_ATTACK}\x1b[8m\r\n2026-01-01T00:00:00Z [info] forged account=shop"


def _log_everywhere() -> None:
    """An attack as everything that a line of a log is made of."""
    log = structlog.get_logger(f"logger{HOSTILE}")
    log.info(HOSTILE, word=QUIET_ATTACK, text=HOSTILE, deep={HOSTILE: [HOSTILE]}, **{f"name{HOSTILE}": 1})
    try:
        raise ValueError(HOSTILE)  # noqa: TRY301 - an exception to log
    except ValueError:
        log.exception("failed")
        logging.getLogger("telethon").exception("failed %s", HOSTILE, stack_info=True)
    logging.getLogger("aiohttp.access").warning("GET /%s", HOSTILE)


@pytest.mark.parametrize("form", [LogFormat.JSON, LogFormat.PEOPLE])
def test_nothing_logged_steers_the_terminal(form: LogFormat) -> None:
    """Events, names, values, nested values, loggers, messages of libraries and texts of exceptions, in either form."""
    logs.set_up(form=form, stream=(stream := io.StringIO()))
    _log_everywhere()
    assert dangers_in(stream.getvalue()) == []


def test_nothing_logged_forges_a_line() -> None:
    """For people each line of ours begins at the margin, and nothing else does."""
    logs.set_up(form=LogFormat.PEOPLE, stream=(stream := io.StringIO()))
    _log_everywhere()
    at_the_margin = [line for line in stream.getvalue().split("\n") if line and not line.startswith("    ")]
    assert len(at_the_margin) == 4
    assert all(line[:4].isdigit() and not line.startswith("2026-01-01T00:00:00Z") for line in at_the_margin)


def test_a_machine_reads_what_was_logged() -> None:
    """JSON escapes what is dangerous, and reads back as it was."""
    logs.set_up(form=LogFormat.JSON, stream=(stream := io.StringIO()))
    structlog.get_logger().info("čaj", text=HOSTILE)
    [line] = lines(stream)
    assert (line["event"], line["text"]) == ("čaj", HOSTILE)
    assert "čaj" in stream.getvalue()


def test_warnings_are_log_lines() -> None:
    """Python would write them past the log."""
    logs.set_up(form=LogFormat.JSON, stream=(stream := io.StringIO()))
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(capture=False)
        logs.set_up(form=LogFormat.JSON, stream=stream)
        warnings.warn(HOSTILE, stacklevel=1)
    [line] = lines(stream)
    assert (line["logger"], line["level"], HOSTILE in str(line["event"])) == ("py.warnings", "warning", True)


def test_colours_reach_a_terminal_below_the_guard() -> None:
    """What is guarded is what others write; a log's own colours are made of texts that are safe already."""
    ours, theirs = os.openpty()
    with os.fdopen(theirs, "w") as below:
        logs.set_up(stream=GuardedStream(below))
        structlog.get_logger().warning("lane paused", account=QUIET_ATTACK)
        shown = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert "\x1b[" in shown
    assert dangers_in(OWN_CODES.sub("", shown).replace("\r\n", "\n")) == []


class TestRepeats:
    @pytest.fixture
    def clock(self) -> HeldClock:
        return HeldClock(NOON)

    @pytest.fixture
    def stream(self, clock: HeldClock) -> io.StringIO:
        logs.set_up(stream=(stream := io.StringIO()), clock=clock)
        return stream

    async def test_a_kind_of_line_is_written_once_in_a_while(self, clock: HeldClock, stream: io.StringIO) -> None:
        """Whoever reaches the web server cannot fill the disk; the next line says how many were left out."""
        for number in range(1_000):
            logging.getLogger("uvicorn.error").warning("Invalid request %d received.", number)
            structlog.get_logger("tidegate.web.server.error_responses").warning("web.database_away", path=f"/{number}")
        await clock.advance(timedelta(seconds=10))
        logging.getLogger("uvicorn.error").warning("Invalid request %d received.", 1_000)
        assert [(line["event"], line.get("left_out")) for line in lines(stream)] == [
            ("Invalid request 0 received.", None),
            ("web.database_away", None),
            ("Invalid request 1000 received.", 999),
        ]

    def test_out_of_files_is_one_line(self, stream: io.StringIO) -> None:
        """asyncio tells of every connection that it cannot take, with a traceback each."""
        for number in range(1_000):
            text = f"socket.accept() out of system resource\nsocket: <{number}>"
            logging.getLogger("asyncio").error(text, exc_info=raised(lambda: os.open("/nowhere/at/all", os.O_RDONLY)))
        assert len(lines(stream)) == 1

    def test_different_failures_are_told_apart(self, stream: io.StringIO) -> None:
        """Two mistakes with the same words before them are two lines."""
        for broken in (lambda: 1 // 0, lambda: {}["x"], lambda: 1 // 0):
            logging.getLogger("uvicorn.error").error("Exception in ASGI application\n", exc_info=raised(broken))
        told = [str(line["exception"]).splitlines()[-1].partition(":")[0] for line in lines(stream)]
        assert told == ["ZeroDivisionError", "KeyError", "ZeroDivisionError"]

    def test_the_worker_is_always_heard(self, stream: io.StringIO) -> None:
        """What accounts and platforms do is told line by line, and so is a library whose name only begins alike."""
        for name in ("tidegate.workers.worker", "tidegate.webhooks", "asyncio_mqtt"):
            for account in (1, 2):
                structlog.get_logger(name).warning("account.trouble", account=account)
        assert len(lines(stream)) == 6


def raised(work: Callable[[], object]) -> Exception:
    """What *work* fails with."""
    try:
        work()
    except (OSError, ArithmeticError, LookupError) as problem:
        return problem
    raise AssertionError("it did not fail")
