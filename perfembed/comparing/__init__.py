"""Whole programs, built by several compilers and by perfembed, measured side by side."""
