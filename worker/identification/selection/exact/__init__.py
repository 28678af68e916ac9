"""Changes of basis with as many digits as they lose."""
