"""Disk queues (seed 003): documents as files, states as names, locks as renames."""
