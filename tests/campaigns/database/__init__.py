"""What the optimization database claims, tried: kills, damage, many writers, scale."""
