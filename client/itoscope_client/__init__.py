"""Itoscope from Python: trajectories in, the stochastic differential equation behind them out.

from itoscope_client import Client
model = Client().identify(x, dt=0.01)
"""

from itoscope_client.async_client import AsyncClient
from itoscope_client.client import Client
from itoscope_client.errors import (
    Busy,
    Conflict,
    Fault,
    Gone,
    InputError,
    InvalidAnswer,
    InvalidRequest,
    ItoscopeError,
    JobCancelled,
    JobFailed,
    MissingDependency,
    NoModel,
    NotFound,
    Problem,
    ServerError,
    TooLarge,
    Unauthorized,
    Unreachable,
    UnreadableData,
)
from itoscope_client.models import Estimate, Model, Passage, Rolling, Sweep, Term
from itoscope_client.models.simulation import SimulationError
from itoscope_client.retries import Retries
from itoscope_client.waiting import WaitingTimedOut

__all__ = [
    "AsyncClient",
    "Busy",
    "Client",
    "Conflict",
    "Estimate",
    "Fault",
    "Gone",
    "InputError",
    "InvalidAnswer",
    "InvalidRequest",
    "ItoscopeError",
    "JobCancelled",
    "JobFailed",
    "MissingDependency",
    "Model",
    "NoModel",
    "NotFound",
    "Passage",
    "Problem",
    "Retries",
    "Rolling",
    "ServerError",
    "SimulationError",
    "Sweep",
    "Term",
    "TooLarge",
    "Unauthorized",
    "Unreachable",
    "UnreadableData",
    "WaitingTimedOut",
]
