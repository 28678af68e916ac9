"""The quantities of an analysis: frozen values that know how they are ranked over models."""
