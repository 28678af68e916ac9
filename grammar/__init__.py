"""The language of models: terms and names of variables. It imports the standard library alone."""
