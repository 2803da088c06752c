"""Figures of perfembed itself, for the documentation: `python -m tests.evaluation`."""
