"""Random programs whose loops are bounded by typed values, tuned at random and run on values of all sizes."""
