"""Builds and runs C in a contained child process and measures it."""
