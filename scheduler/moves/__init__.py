"""The moves of searches: a nest and a schedule so far in, what may follow out."""
