"""`inspect`: a C file in, its nests with their dependences and what may be done to their loops out."""
