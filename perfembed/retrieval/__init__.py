"""From a nest to the schedules worth measuring: a nest in, its nearest donors and what they lead to out.

The space in which near is meant is learned from donors whose good schedules are alike.
"""
