"""Pages of files: those of a channel, and what all of them take."""
