"""Analysis of processes of two coordinates, on cells."""
