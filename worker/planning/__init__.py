"""Plans: how long, and how often, to record so that a quantity of a model has a given error."""
