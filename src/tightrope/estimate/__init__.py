"""What has been seen and what may still be true: counts, confidence sets, bonuses."""
