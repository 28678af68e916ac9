"""One pass over a long record, shared out among worker processes."""
