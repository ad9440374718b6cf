"""Reminders: what to say, to whom, when; and the runs that deliver it."""
