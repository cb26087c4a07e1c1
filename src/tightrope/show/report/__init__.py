"""The report of a study: one page that opens from disk, in words, tables and pictures."""
