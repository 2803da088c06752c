"""From the syntax tree to loop nests, or to the reason why not."""
