"""The only code that knows Redis keys and file paths."""
