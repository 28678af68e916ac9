"""The numerical core: from trajectories to drift and diffusion. NumPy, SciPy, scikit-learn and numba; nothing else."""
