"""A lab whose time is ours: steps, faults with what the protocol promises, drills."""
