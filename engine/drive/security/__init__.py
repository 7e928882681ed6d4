"""Who may connect, and who is at the other end of a connection."""
