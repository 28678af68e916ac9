"""Weak equations: sampling rules, measurement noise and regression."""
