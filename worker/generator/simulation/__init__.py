"""Sample paths of a diffusion process in any number of coordinates, and what they say of its law."""
