"""Private chats and small groups: their numbers, how they are listed, and the message box that they share."""
