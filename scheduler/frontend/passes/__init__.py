"""Rewritings of functions that leave what they do as it is."""
