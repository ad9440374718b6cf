"""Reading again in the background, within a budget of calls: partial messages, and whole histories."""
