"""Random C programs of the forms that people write, tuned at random: what they print must stay the same."""
