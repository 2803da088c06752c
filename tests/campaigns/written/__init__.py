"""Written files compiled in other ways than they were tuned: they must do what the original does, compiled the same."""
