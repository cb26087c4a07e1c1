"""What the data say about a model: counts, confidence sets, bonuses."""
