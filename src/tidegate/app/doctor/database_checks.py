"""What ``tidegate doctor`` checks of the database: version, schema, latency, clock, and that the key fits it."""

from __future__ import annotations

from datetime import timedelta

from tidegate.app.composition import Runtime
from tidegate.app.doctor.check import Check, failure, passed, warning
from tidegate.app.doctor.machine_checks import known_keys
from tidegate.core.clock import Clock
from tidegate.core.errors import TidegateError
from tidegate.core.rules.readable_values import readable_size
from tidegate.database.migrations import HEAD
from tidegate.database.pool import Connection, server_version
from tidegate.problems.queries.server_facts import ServerFacts, sealed_with, server_facts

SLOW = timedelta(milliseconds=50)
"""A database that takes longer for the smallest query slows everything down."""

APART = timedelta(seconds=5)
"""Clocks that differ by more make times confusing; workers use the database's clock."""


async def database_checks(runtime: Runtime, clock: Clock) -> list[Check]:
    """All checks of a database that can be reached; the schema was checked when it was opened."""
    async with runtime.database.connection() as connection:
        await server_facts(connection)  # the first query of a session also plans it
        begun, before = clock.ticks(), clock.now()
        facts = await server_facts(connection)
        took = timedelta(seconds=clock.ticks() - begun)
        name = await server_version(connection)
        return [
            passed("database", f"PostgreSQL {name}, schema {HEAD}, {readable_size(facts.size)}."),
            passed("extensions", f"{', '.join(facts.extensions)}."),
            _latency(took),
            _clock(facts, before + took / 2 - facts.now),
            await _sealing_key(connection, runtime),
        ]


def _latency(took: timedelta) -> Check:
    words = f"The database answers in {took / timedelta(milliseconds=1):.1f} ms."
    if took <= SLOW:
        return passed("latency", words)
    return warning("latency", f"{words} Run Tidegate closer to it, below {SLOW / timedelta(milliseconds=1):.0f} ms.")


def _clock(facts: ServerFacts, apart: timedelta) -> Check:
    seconds = abs(apart.total_seconds())
    if seconds <= APART.total_seconds():
        return passed("clock", f"This machine's clock and the database's differ by {seconds:.1f} s.")
    way = "ahead of" if apart > timedelta() else "behind"
    return failure("clock", f"This machine's clock is {seconds:.0f} s {way} the database's. Set it by NTP.")


async def _sealing_key(connection: Connection, runtime: Runtime) -> Check:
    used = await sealed_with(connection)
    if not used:
        return passed("sign-ins", "No sign-in is stored yet.")
    try:
        ring = known_keys(runtime.settings)
    except TidegateError as problem:
        return failure("sign-ins", str(problem))
    known = () if ring is None else ring.ids
    lacking = [one for one in used if one not in known]
    if lacking:
        sentence = f"Sign-ins are sealed with {', '.join(lacking)}, which this machine does not have. Copy secret.key."
        return failure("sign-ins", sentence, "docs/operating.md#the-key")
    return passed("sign-ins", "The key of this machine opens the sign-ins in the database.")
