"""Small OpenMP programs, right ones and ones with a planted race: what is read of them, and what is written for them.

In: kernels and the manners in which people put pragmas on them. Out: which races were seen, which were not there, and
whether written programs say what the originals do.
"""
