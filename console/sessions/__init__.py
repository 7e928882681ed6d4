"""Sessions of the console: a lab, and what was seen of it so far. Nothing here imports a screen."""
