"""Workers: which of them serves which account, hand-over, commands."""
