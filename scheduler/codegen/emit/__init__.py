"""C text: of the tree of generated code, of the original, and of the functions that both call."""
