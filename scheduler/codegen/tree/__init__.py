"""The tree of generated code: what is run when, found with isl; no C text yet."""
