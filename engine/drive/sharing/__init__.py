"""One connection for several peers: their drives wrap and unwrap what they say, and no core knows of it."""
