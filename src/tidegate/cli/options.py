"""Arguments and options that several commands take."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from tidegate.app.platform_registry import platforms

AccountName = Annotated[str, typer.Argument(help="The account's name.")]
PlatformName = StrEnum("PlatformName", [(one.name, one.name) for one in platforms()])  # type: ignore[misc]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
