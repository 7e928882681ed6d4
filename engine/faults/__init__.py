"""Faults that can be injected into a sandbox, what is promised of each, and drills made of them."""
