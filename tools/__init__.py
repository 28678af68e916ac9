"""Tools for the project's releases and its tests; no part of the product."""
