"""The documents that service and worker exchange: frozen pydantic models, without I/O."""
