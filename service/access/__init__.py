"""API keys and admission."""
