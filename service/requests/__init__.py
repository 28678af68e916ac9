"""Requests: bodies, forms, uploads and submissions."""
