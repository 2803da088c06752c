"""What is known of the values, pointers and loops of a function."""
