"""Discord messages that were stored blank, because Discord hid their content, are read once more."""

from tidegate.database.migrations.steps import run

revision = "0035"
down_revision = "0034"


def upgrade() -> None:
    run(
        """
WITH blank AS (
    SELECT m.channel, range_agg(int8range(m.id, m.id, '[]')) AS spans
    FROM messages m JOIN channels c ON c.id = m.channel
    WHERE c.platform = 'discord' AND m.text = '' AND m.files = '{}' AND m.service = '' AND m.deleted_at IS NULL
      AND NOT coalesce(m.extra, '{}') ?| ARRAY['embeds', 'components', 'poll', 'sticker_items', 'message_snapshots']
    GROUP BY m.channel
)
UPDATE coverage v SET spans = v.spans - b.spans FROM blank b WHERE v.channel = b.channel AND v.kind = 'messages';
"""
    )
