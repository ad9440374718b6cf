"""What several test folders are played in: a mirror of a loopback platform."""
