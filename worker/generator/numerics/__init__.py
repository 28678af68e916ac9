"""Quadrature, roots, Laplace inversion and factorisations."""
