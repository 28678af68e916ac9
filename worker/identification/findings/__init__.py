"""Every sentence about a fit, by its subject. Start in `fit.py`."""
