"""The compiler wrapper: C files are compiled with the best schedules that a database has for their nests.

Nothing is imported here: it starts once for each file of a build.
"""
