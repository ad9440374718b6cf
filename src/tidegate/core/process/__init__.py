"""The running process itself: what it loads and what it holds."""
