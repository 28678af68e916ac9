"""The analysis of several coordinates."""
