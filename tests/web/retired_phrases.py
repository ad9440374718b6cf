"""Words that pages no longer use, because people stumbled over them; each had its reason and has a plainer one.

A capital letter counts: "It fits" is a label that is gone, while "it fits" may stand in a sentence.
"""

RETIRED = (
    # everywhere and Home
    "To the overview", "Load the page again", "Bad Request", "served by", "accounts served", "workers at work",
    "What needs you", "Nothing waits for you", "At work", "Nothing is under way", "Accounts and their lanes",
    "Pace, last minute", "What happens", "Nothing happened yet", "as often as allowed", "Decide about it",
    # activity
    "archive filed", "archive previewed", "sign in begun", "sign in link made", "run opened", "reminder fired",
    "cycle ended", "worker died", "channel read",
    # channels
    "Title or number", "Last scan and verdict", "Next due", "gate: unchanged", "skip: recently scanned",
    "No channel is like that", "What it is", "Read by", "archives alone", "told apart by content", "Filed to",
    "What is remembered", "It found", "Coverage of documents", "Do now", "Cycle now", "How many messages deep",
    "as usual, a number, or all", "Mirror it otherwise", "Every message, not archives alone",
    "Tell archives apart by their content", "File its archives to", "Follow these topics on their own",
    "Followed on its own", "Newest seen", "What was read of it", "told live", "by a cycle",
    "Its reader's latest cycles", "Calls spent", "A board has no messages",
    # search and archives
    "Words to look for", "All must be true", "has inside", "There are more. Add a word", "Relevance was weighed",
    "A search knows", "is no date", "From this day on", "Go there", "deleted noticed", "What it said before",
    "nobody named", "There is no message that late", "Name, or a file inside", "Where it came from", "Where it went",
    "Nothing is known of what is inside", "by hand only",
    # reminders, lists and sends
    "Fires next", "when somebody fires it", "Fire now", "Fire it now", "Saved lists", "Text, or the caption of a file",
    "Picture, video or document", "Without the file", "Another message", "are filled in", "To whom", "Sent by",
    "Find among them", "Others, one a line", "All groups it may write to", "may not write there", "again and again",
    "by a cron line", "when I fire it", "When things do not go to plan", "only some of its messages then",
    "It fires again while", "It fits", "does not fit", "As the first group gets it", "Keep it", "Keep the change",
    "Change something", "Send it there", "is called a picture and is none", "to put on it", "With this in their title",
    "Seen by", "as searched for", "Put the ticked ones", "Make it and choose its groups", "Tell me when a run ends",
    "Your browser will not tell you", "Pause every run", "Let runs go on", "every run is paused",
    "Nobody knows whether these arrived", "They arrived", "Send them again", "Leave them out", "Runs go on again",
    "is asked for (command",
    # accounts, settings and sign-in
    "Signed-in identities", "Name has", "How well the platform knows it", "What you call it",
    "its intents are checked", "Sign it in", "List its channels", "it only sends",
    "The one you set at Telegram", "It was sent to the Telegram app", "A worker serves it", "To the accounts",
    "The platform is being asked", "Bots and scripts show a token", "Make a token", "I have it",
    "Password until now", "That is not the password", "Of secrets you see only", "web floor",
    "I do not know the password", "Not sent yet",
    # one word for one thing: a second walk
    "Group lists", "A group list", "Groups that were left", "Open the reminder", "Create the reminder", "Tick the",
    "Tick groups", "reading its history", "Keep no more files", "Fetch no more files", "Keep no protected files",
    "The policy is changed", "looked at anew", "Save the rule", "What is done", "Larger ones", "To free",
    "Remove from the store", "There are no such files",
)  # fmt: skip
