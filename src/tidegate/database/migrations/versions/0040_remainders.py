"""Which run a reminder was made of to send what was left, and under which name the run's groups were left to it."""

from tidegate.database.migrations.steps import run

revision = "0040"
down_revision = "0038"


def upgrade() -> None:
    run(
        r"""
ALTER TABLE reminders
    ADD COLUMN rest_of bigint,
    ADD COLUMN rest_as text NOT NULL DEFAULT '';

UPDATE reminders r SET rest_of = named.run, rest_as = r.name
FROM (SELECT id, substring(name FROM '\(rest of run (\d{1,18})\)$')::bigint AS run FROM reminders) AS named
WHERE named.id = r.id
  AND EXISTS (SELECT FROM run_targets t WHERE t.run = named.run AND t.left_to = r.name);
"""
    )
