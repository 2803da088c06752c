"""How the user's program is built: by compiling files and linking them, or by a command of the user's.

Nothing is imported here: what stands in for a compiler starts once for each file of a build.
"""
