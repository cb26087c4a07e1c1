"""Other tools in and out: Gymnasium environments as models, and models as environments."""
