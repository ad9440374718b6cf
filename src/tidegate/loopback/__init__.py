"""Stand-in platforms on 127.0.0.1 for demo, tests and benchmarks. Their own records are compared with our database."""
