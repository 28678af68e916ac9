"""Simulated paths of a diffusion process in any number of coordinates, and estimates from them."""
