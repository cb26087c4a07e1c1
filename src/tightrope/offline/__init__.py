"""Logged episodes: reading files of steps, and planning from them."""
