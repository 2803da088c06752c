"""perfembed: makes the loops of a C program faster without changing what they compute."""
