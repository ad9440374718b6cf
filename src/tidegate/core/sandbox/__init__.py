"""Child processes that read what strangers made: both sides of them, parent and child."""
