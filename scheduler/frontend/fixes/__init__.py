"""Edits of the source text that make a refused loop readable: what a refusal advises, where that is mechanical."""
