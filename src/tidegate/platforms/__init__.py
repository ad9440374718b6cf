"""Platforms: one folder each, with a client (the calls) and translators (their words to ours)."""
