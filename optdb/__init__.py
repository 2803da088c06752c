"""The optimization database."""
