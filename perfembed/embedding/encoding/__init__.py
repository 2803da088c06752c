"""Loop nests as typed graphs: what a performance embedding is made of."""
