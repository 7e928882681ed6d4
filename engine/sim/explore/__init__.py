"""A model checker on the cores that really run: every order of events of a small scene, within bounds."""
