"""The texts of a file, and what the C parser makes of them."""
