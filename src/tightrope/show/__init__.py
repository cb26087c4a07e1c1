"""Pictures of models and plans: they read what they are given and write nothing but a file."""
