"""Decides which peers may connect, and finds the user at the other end of a connection."""
