"""What is used when the project is released, and by its tests; no part of the product."""
