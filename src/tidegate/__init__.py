"""Tidegate: a complete copy of the channels you follow, and reminders to the groups you run."""

__version__ = "0.1.0"
