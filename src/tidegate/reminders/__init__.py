"""Reminders: what to say, to whom and when, and the runs that send it."""
