"""The performance embedding: its network, its targets, its training, its files."""
