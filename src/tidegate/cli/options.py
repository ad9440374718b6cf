"""Arguments and options that several commands take."""

from __future__ import annotations

from typing import Annotated

import typer

AccountName = Annotated[str, typer.Argument(help="The account's name.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
