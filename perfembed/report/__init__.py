"""Results as text for a terminal and as documents for programs."""
