"""Comparison of groups of trajectories: which coefficients and time scales differ."""
