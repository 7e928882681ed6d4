"""From the engine's feed to what is shown: polled, never waiting; no widget in it."""
