"""Performance embeddings: a nest and, where there is one, its profile in, a vector out; and the vectors of its nodes.

`encoding` makes typed graphs of nests, `network` turns these into vectors and learns how.
"""
