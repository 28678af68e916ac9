"""Sums over the data, from which every estimate is made."""
