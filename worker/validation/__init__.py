"""Validation of the identified model with the data that it came from."""
