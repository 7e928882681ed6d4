"""What is refused, in words."""

from __future__ import annotations


class Refused(ValueError):
    """An order or a setting that can not be followed; the text says what and what to do instead."""
