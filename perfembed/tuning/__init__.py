"""`tune`: a C file and options in, a verified and faster C file and a report with every reason out.

The program is profiled and captured, its nests are tuned one by one, and what is found is written into the file.
"""
