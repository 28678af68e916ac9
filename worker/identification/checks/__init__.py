"""Checks of the data and of a fit."""
