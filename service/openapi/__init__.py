"""The OpenAPI document, its schemas and its reference pages."""
