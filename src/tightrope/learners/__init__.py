"""The algorithms, one file each, and the two ways to drive them."""
