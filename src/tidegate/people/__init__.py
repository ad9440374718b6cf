"""Authors of messages: who they are, and the names they had."""
