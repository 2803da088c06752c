"""Schedules that isl computes for a nest: loop structures to begin a search or a transfer with."""
