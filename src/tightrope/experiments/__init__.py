"""Experiments: sets of simulated runs, each in a directory, that can be stopped and resumed."""
