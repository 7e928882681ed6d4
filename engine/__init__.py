"""The engine: protocols, what drives them, and what the console and the command line call. It knows no screen."""

__version__ = "0.1.0"
