"""The choice of terms."""
