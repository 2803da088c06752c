"""Schedules computed from what is known of the machine: a nest in, up to six legal schedules that need no donor out."""
