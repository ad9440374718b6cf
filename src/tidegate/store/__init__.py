"""PostgreSQL: one module a subject, plain SQL."""
