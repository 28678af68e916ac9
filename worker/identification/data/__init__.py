"""Trajectories, their windows, and the library of candidate terms."""
