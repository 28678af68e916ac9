"""What service and worker say to each other: frozen pydantic documents, no I/O."""
