"""Numerical core, from trajectories to drift and diffusion.

It imports NumPy, SciPy, scikit-learn and numba, and nothing else.
"""
