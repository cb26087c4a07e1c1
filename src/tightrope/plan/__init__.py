"""Planners: a problem in, a plan with its certificate out."""
