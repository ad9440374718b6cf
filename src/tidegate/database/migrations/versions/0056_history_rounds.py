"""Rounds in which whole histories are compared again, and what each account spends on them."""

from tidegate.database.migrations.steps import run

revision = "0056"
down_revision = "0055"


def upgrade() -> None:
    run(
        """
-- A round goes down from the newest message: all from "below" up was compared since "began_at". It is running until
-- "ended_at". What was stored at "verified_until", the beginning of the last whole round, has been compared since.
CREATE TABLE history_rounds (
    channel        bigint      PRIMARY KEY REFERENCES channels ON DELETE CASCADE,
    began_at       timestamptz NOT NULL DEFAULT clock_now(),
    below          bigint,
    ended_at       timestamptz DEFAULT clock_now(),
    verified_until timestamptz,
    rounds         integer     NOT NULL DEFAULT 0
) WITH (fillfactor = 80);

-- Calls that an account made for rounds on a day (UTC), and when its rounds will have ended.
CREATE TABLE verification_budgets (
    account bigint  PRIMARY KEY REFERENCES accounts ON DELETE CASCADE,
    day     date    NOT NULL,
    calls   integer NOT NULL,
    ends_at timestamptz
) WITH (fillfactor = 60);
"""
    )
