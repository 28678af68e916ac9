"""The addresses, one file a noun."""
