"""The JSON schemas that ship, derived from the records they describe: `python -m tests.schemas` writes them."""
