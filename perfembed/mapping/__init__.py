"""Nests embedded without running them, and the embedding space as a picture: a C file or donors in, points out."""
