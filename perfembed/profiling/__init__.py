"""Profiles of nests: a file or donors in, the counters and metrics of each nest in its canonical schedule out."""
