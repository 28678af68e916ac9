"""Results of jobs: one model to evaluate, simulate and plot, or models by window or by settings."""
