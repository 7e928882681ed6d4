"""Everything the cores were given, on a file; played back forwards and backwards, and asked why."""
