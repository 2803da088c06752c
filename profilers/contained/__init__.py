"""Child processes that end: within limits of time and memory, with all they started, able to do no more than asked."""
