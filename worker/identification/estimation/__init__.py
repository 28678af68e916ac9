"""The estimators and their kernels."""
