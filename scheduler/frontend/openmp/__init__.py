"""OpenMP pragmas, and what they mean for a loop."""
