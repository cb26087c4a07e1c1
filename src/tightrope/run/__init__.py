"""Runs: a learner in simulation, its book and its audit."""
