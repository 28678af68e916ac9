"""Itoscope from Python: trajectories in, the stochastic differential equation behind them out.

from itoscope_client import Client
model = Client().identify(x, dt=0.01)
"""

from itoscope_client import errors, kinds
from itoscope_client.client import AsyncClient, Client, version
from itoscope_client.errors import *  # noqa: F403
from itoscope_client.flows import Retries
from itoscope_client.kinds import *  # noqa: F403  # the class of each kind's result
from itoscope_client.models.batch import Batch
from itoscope_client.models.estimates import Estimate, Passage, Response, Term
from itoscope_client.models.simulation import SimulationError
from itoscope_client.requests import (
    AnalysisParameters,
    IdentificationParameters,
    ModelTerms,
    PlanTarget,
    RollingWindows,
)
from itoscope_client.waiting import WaitingTimedOut

__version__ = version()
__all__ = [
    "AnalysisParameters", "AsyncClient", "Batch", "Client", "Estimate", "IdentificationParameters",
    "ModelTerms", "Passage", "PlanTarget", "Response", "Retries", "RollingWindows",
    "SimulationError", "Term",
    "WaitingTimedOut",
]  # fmt: skip
__all__ += errors.__all__
__all__ += kinds.__all__
