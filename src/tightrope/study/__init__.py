"""Studies of a real process: its terms, the episodes told so far, the next policy."""
