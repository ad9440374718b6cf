"""What kinds of values settings have, and the sentence that refuses any other."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr

from tidegate.core.byte_sizes import parse_size
from tidegate.core.durations import parse_span
from tidegate.core.rules.trusted_proxies import read_proxies


class LogLevel(StrEnum):
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LogFormat(StrEnum):
    """How log lines look."""

    AUTO = "auto"  # for people on a terminal, and JSON elsewhere
    PEOPLE = "people"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class Allowed:
    """What a value must be, as the end of the sentence that refuses another."""

    text: str


@dataclass(frozen=True, slots=True)
class Alias:
    """An environment name of a setting."""

    name: str
    unit: timedelta | None = None  # with a unit, the value is nothing but a number of it
    allowed: str | None = None


def _number(written: Any) -> Any:
    if isinstance(written, bool):
        raise ValueError("a switch is not a number")  # noqa: TRY004 - pydantic turns only ValueError into a refusal
    return written


def _home(path: Path) -> Path:
    return path.expanduser().absolute()


def _proxies(written: str) -> str:
    read_proxies(written)
    return written


Count = Annotated[int, BeforeValidator(_number), Field(gt=0), Allowed("a whole number of 1 or more")]
Budget = Annotated[int, BeforeValidator(_number), Field(ge=0), Allowed("a whole number of 0 or more")]
Cap = Annotated[Count | None, Allowed("a whole number of 1 or more, or left out for no cap")]
ApiId = Annotated[Count | None, Allowed("a whole number of 1 or more")]
Rate = Annotated[
    float, BeforeValidator(_number), Field(gt=0, allow_inf_nan=False), Allowed("a number above 0, such as 0.5")
]
Growth = Annotated[float, BeforeValidator(_number), Field(ge=1, le=10), Allowed("a number from 1 to 10")]
Port = Annotated[
    int, BeforeValidator(_number), Field(ge=0, le=65_535), Allowed("a port from 1 to 65535, or 0 for any free one")
]
Switch = Annotated[bool, Allowed("true or false")]
Span = Annotated[
    timedelta,
    BeforeValidator(parse_span),
    Field(gt=timedelta(), le=timedelta(days=36_500)),
    Allowed("a span above 0, such as 15s, 10m, 4h or 30d"),
]
SafetyNet = Annotated[
    timedelta,
    BeforeValidator(parse_span),
    Field(gt=timedelta(), le=timedelta(hours=4)),
    Allowed("a span above 0 up to 4h"),
]
Size = Annotated[
    Annotated[int, Field(gt=0)] | None,
    BeforeValidator(parse_size),
    Allowed("a size such as 700MB or 4GiB, a number of bytes, or left out for no limit"),
]
Room = Annotated[
    int,
    BeforeValidator(parse_size),
    Field(ge=0),
    Allowed("a size such as 700MB or 4GiB, or a number of bytes"),
]
TimeOut = Annotated[
    timedelta,
    BeforeValidator(parse_span),
    Field(ge=timedelta(seconds=3), le=timedelta(hours=1)),
    Allowed("a span from 3s to 1h"),
]
KeptForCaps = Annotated[
    timedelta,
    BeforeValidator(parse_span),
    Field(ge=timedelta(days=2), le=timedelta(days=36_500)),
    Allowed("a span of 2d or more, because the daily cap counts the ledger's last 24 hours"),
]
WorkerName = Annotated[
    str,
    Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,59}$"),
    Allowed("1 to 60 letters, digits, dots, dashes or underscores, beginning with a letter or digit"),
]
Home = Annotated[Path, AfterValidator(_home), Allowed("the path of a folder")]
Secret = Annotated[SecretStr | None, Allowed("text")]
StoreAddress = Annotated[
    Annotated[str, Field(pattern=r"^s3://[A-Za-z0-9.\-]{1,63}(/[A-Za-z0-9._~\-/]*)?(\?[A-Za-z0-9._~\-/:=&%\[\]]*)?$")]
    | None,
    Allowed("an address such as s3://bucket/prefix?endpoint=https://s3.example.org, or left out"),
]
PublicUrl = Annotated[
    Annotated[str, Field(pattern=r"^https?://[A-Za-z0-9.\-\[\]:]+(/[A-Za-z0-9._~\-]+)*/?$")] | None,
    Allowed("an address such as https://example.org/tidegate, or left out"),
]
PublicHosts = Annotated[
    Annotated[str, Field(pattern=r"^[A-Za-z0-9.\-\[\]:]+((, ?| )[A-Za-z0-9.\-\[\]:]+)*$")] | None,
    Allowed("names such as gate.example.org, with commas between them, or left out"),
]
TrustedProxies = Annotated[
    Annotated[str, Field(min_length=1), AfterValidator(_proxies)] | None,
    Allowed("addresses or networks such as 10.0.0.0/8, and unix for the socket, with commas between them, or left out"),
]
SocketPath = Annotated[Annotated[Path, AfterValidator(_home)] | None, Allowed("the path of a socket, or left out")]
Host = Annotated[str, Field(min_length=1), Allowed("an address to listen on, such as 127.0.0.1")]


def setting(default: Any, meaning: str, *aliases: Alias | str) -> Any:
    named = [Alias(alias) if isinstance(alias, str) else alias for alias in aliases]
    how: dict[str, Any] = {"default_factory": default} if callable(default) else {"default": default}
    return Field(description=meaning, json_schema_extra={"aliases": named}, **how)  # type: ignore[dict-item]
