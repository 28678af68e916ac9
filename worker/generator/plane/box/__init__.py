"""The rectangle that holds the stationary distribution."""
