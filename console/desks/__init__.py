"""What stands at a console: a system, a pipeline, a stage of either; its lab, and what was seen of it so far."""
