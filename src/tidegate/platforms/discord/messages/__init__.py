"""What Discord's messages say, as our values. Pure.

``raw_fields`` decides what is kept of a message's JSON. ``content`` reads kind and content out of that, so that a part
of a message that changed can be merged into what was stored and read again.
"""
