"""Candidates measured: schedules in, times out; each text built, run, compared with the original and checked once.

The ledger of a nest is told of every outcome; `store` is the one that keeps them in the database.
"""
