"""What an operator can set: the configuration file, the environment and the flags."""
