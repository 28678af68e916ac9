"""What comes back: a model that can be evaluated, simulated, plotted and kept, and models window by window."""

from itoscope_client.models.estimates import Estimate, Passage, Term
from itoscope_client.models.model import Model
from itoscope_client.models.rolling import Rolling

__all__ = ["Estimate", "Model", "Passage", "Rolling", "Term"]
