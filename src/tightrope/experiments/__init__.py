"""Simulated runs: specs, the compiled loop, storage, engines, experiments."""
