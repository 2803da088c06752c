"""A syntax tree of C, and what every pass asks of it."""
