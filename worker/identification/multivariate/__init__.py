"""Identification in two and more variables: drift vector and coupled diffusion tensor. Read `estimator.py` first."""
