"""Selection of terms."""
