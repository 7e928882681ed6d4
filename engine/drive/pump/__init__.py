"""The pump: whole messages out of sockets and into them, many in one call; native where it was built, else pure."""
