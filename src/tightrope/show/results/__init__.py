"""The paper's claims as sections of a page: words, tables and figures from records."""
