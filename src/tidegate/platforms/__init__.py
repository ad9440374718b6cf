"""Platforms: one folder each, with a client (the calls) and the translation of its values and errors."""
