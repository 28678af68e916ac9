"""Core values written as result documents."""
