"""What is open at the console: a lab, and what was seen of it so far. No screen is known here."""
