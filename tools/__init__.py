"""Programs for people who work on the code base."""
