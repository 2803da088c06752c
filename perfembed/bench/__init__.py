"""Benchmarks and campaigns: what perfembed claims about itself, shown again by a command."""
