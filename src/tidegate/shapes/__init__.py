"""What scripts get: the documents that ``--json`` prints and the HTTP API answers with, one module a noun.

They are written once, so that a script may ask whichever of the two it reaches. A field is here when scripts may rely
on it; the tables and pages that people see take what they show from the same values.
"""
