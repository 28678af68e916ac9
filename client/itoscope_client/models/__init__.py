"""What comes back: a model that can be evaluated, simulated, plotted and kept."""

from itoscope_client.models.estimates import Estimate, Passage, Term
from itoscope_client.models.model import Model

__all__ = ["Estimate", "Model", "Passage", "Term"]
