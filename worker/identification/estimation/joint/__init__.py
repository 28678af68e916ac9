"""Estimates of several components at once: correlated drifts, linear equations, potentials."""
