"""What comes back: a model that can be evaluated, simulated, plotted and kept, models window by window, and by settings."""
