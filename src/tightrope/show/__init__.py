"""Pictures, reports and results: they read what they are given and write nothing but a file."""
