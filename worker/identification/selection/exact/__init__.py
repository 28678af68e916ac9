"""Changes of basis in as many digits as they lose."""
