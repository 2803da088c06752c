"""The loop-nest compiler: C in, loop nests, dependences, transformations, legality, C out, search."""
