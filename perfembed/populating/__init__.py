"""`populate`: many C programs in, a database of schedules out, whatever interrupts it, here or on a cluster."""
