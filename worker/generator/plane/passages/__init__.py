"""First passages and committors in the plane."""
