"""Messages made visible: decoded, linked to arrows, filtered, drawn as a ladder."""
