"""Messages decoded, linked to arrows, filtered, and drawn as a ladder."""
