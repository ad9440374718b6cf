"""Each part of a Telegram message as our values; ``platforms/telegram/translation.py`` puts them together."""
