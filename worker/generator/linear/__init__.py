"""Linear processes, and linear approximations at fixed points, in closed form."""
