"""Hunts for wrong results: `python -m tests.campaigns`."""
