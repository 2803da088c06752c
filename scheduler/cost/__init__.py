"""Predicting how much faster a schedule makes a nest, without running it."""
