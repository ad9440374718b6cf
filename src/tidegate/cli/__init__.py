"""The command line: one module per noun.

A noun's module imports what its work needs inside its commands, so that ``tidegate --help`` stays quick.
"""

from __future__ import annotations

from typing import Annotated

import typer

from tidegate import __version__
from tidegate.cli.accounts import account
from tidegate.cli.archives import archive
from tidegate.cli.channels import channel
from tidegate.cli.cycles import calls, cycle, plan
from tidegate.cli.demo import demo, loopback
from tidegate.cli.error_messages import as_sentences
from tidegate.cli.history import backfill, context, search
from tidegate.cli.media import media
from tidegate.cli.reminders import reminder, runs
from tidegate.cli.service import db, feed, settings, token, web, worker
from tidegate.core.terminal import guard_streams, print_line

app = typer.Typer(
    name="tidegate",
    help="Keeps a complete copy of the channels you follow, and delivers reminders to the groups you run.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback()
def _tidegate(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and exit.", is_eager=True, callback=lambda on: _print_version(on=on)
        ),
    ] = False,
) -> None:
    pass


def _print_version(*, on: bool) -> None:
    if on:
        print_line(f"tidegate {__version__}")
        raise typer.Exit


# One line a command; a noun with several commands is a Typer of its own: app.add_typer(noun.app, name="noun").
app.command("serve")(worker.serve)
app.command("worker")(worker.worker)
app.add_typer(account.app, name="account")
app.add_typer(channel.app, name="channel")
app.command("plan")(plan.plan)
app.command("cycle")(cycle.cycle)
app.command("backfill")(backfill.backfill)
app.command("reconcile")(backfill.reconcile)
app.add_typer(archive.app, name="archive")
app.add_typer(media.app, name="media")
app.add_typer(reminder.app, name="reminder")
app.add_typer(runs.app, name="runs")
app.command("search")(search.search)
app.command("context")(context.context)
app.add_typer(token.app, name="token")
app.command("settings")(settings.show)
app.add_typer(db.app, name="db")
app.command("feed")(feed.show)
app.command("calls")(calls.show)
app.command("web")(web.web)
app.command("loopback")(loopback.loopback)
app.command("demo")(demo.demo)


def main() -> None:
    """The ``tidegate`` program."""
    guard_streams()
    with as_sentences():
        app()
