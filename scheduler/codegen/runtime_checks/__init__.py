"""Tests at run time in front of transformed code: bounds, overlaps, rows of pointers, what the file was read under."""
