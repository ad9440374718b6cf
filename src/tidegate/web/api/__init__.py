"""The HTTP API for bots and scripts: one module per subject, authenticated with a token, in JSON.

It reads and writes the database and never calls a platform. What needs a platform is left as a command for the worker
that serves the account. ``web/openapi.py`` puts the routes together.
"""
