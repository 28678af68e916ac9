"""Result documents, written from the core's values."""
