"""Other people's data and models: in and out."""
