"""Compiled array functions: no classes, no checks; everything is checked at the door."""
