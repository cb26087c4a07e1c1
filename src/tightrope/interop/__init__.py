"""Other people's data, models and environments: in and out."""
