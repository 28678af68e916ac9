"""Models of windows moved along one time series."""
