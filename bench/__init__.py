"""One file a claim; every result is a ratio against a baseline measured in the same run."""
