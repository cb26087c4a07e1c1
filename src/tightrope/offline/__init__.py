"""Logged episodes: files of steps become episodes that a learner can count and plan from."""
