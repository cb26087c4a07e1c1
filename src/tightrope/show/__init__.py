"""Figures and reports of models, plans and runs."""
