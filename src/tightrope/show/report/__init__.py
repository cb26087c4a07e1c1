"""The report of an experiment: one page that opens from disk, in words, tables and pictures."""
