"""Stand-ins for parts of the product that tests and campaigns compare with, or run in their place."""
