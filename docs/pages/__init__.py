"""What the documentation makes by itself: blocks that run, pictures, the gallery, the commands."""
