"""Where a value belongs in time, and where it is drawn."""
