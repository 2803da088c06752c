"""Schedules as matrices: drawn at random among the legal ones, simplified to trees, described by features."""
