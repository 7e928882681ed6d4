"""Jobs as an operator describes them: in a file, by options, in a typed line."""
