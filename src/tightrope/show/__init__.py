"""Figures and reports: they read what they are given and write nothing but a file."""
