"""A window moved along one record: what changes."""
