"""The job store in Redis or Valkey."""
