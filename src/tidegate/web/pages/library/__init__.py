"""The pages of the library: channels with their tabs, search, and archives."""
