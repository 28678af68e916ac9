"""What comes back: a model that can be evaluated, simulated, plotted and kept, models window by window, and by settings."""

from itoscope_client.models.estimates import Estimate, Passage, Term
from itoscope_client.models.model import Model
from itoscope_client.models.rolling import Rolling
from itoscope_client.models.sweep import Sweep

__all__ = ["Estimate", "Model", "Passage", "Rolling", "Sweep", "Term"]
