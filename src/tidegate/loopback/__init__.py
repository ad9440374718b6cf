"""Platforms on 127.0.0.1, for demo, tests and benchmarks: they keep the truth our own database is checked against."""
