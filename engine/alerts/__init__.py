"""Alerts: rules over statuses, their states, and who is told. Pure but for ``engine.alerts.notify``."""
