"""The format of a recording: how events stand in it, how it is written, read and cut."""
