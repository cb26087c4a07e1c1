"""Conversion from and to other tools."""
