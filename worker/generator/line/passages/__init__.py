"""First passages, exits and committors on the line."""
