"""Models and what they learn from: databases in, shards of training data, problems and trained cost models out."""
