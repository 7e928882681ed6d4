"""The control socket of a broker: where its own user gives it orders. The protocol: docs/control.md."""
