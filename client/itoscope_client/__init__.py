"""Itoscope from Python: trajectories in, the stochastic differential equation behind them out.

from itoscope_client import Client
model = Client().identify(x, dt=0.01)
"""

from itoscope_client import kinds
from itoscope_client.client import AsyncClient, Client
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
from itoscope_client.flows import Retries
from itoscope_client.kinds import *  # noqa: F403  # the class of each kind's result
from itoscope_client.models.estimates import Estimate, Passage, Term
from itoscope_client.models.simulation import SimulationError
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
    "NoModel",
    "NotFound",
    "Passage",
    "Problem",
    "Retries",
    "ServerError",
    "SimulationError",
    "Term",
    "TooLarge",
    "Unauthorized",
    "Unreachable",
    "UnreadableData",
    "WaitingTimedOut",
]
__all__ += kinds.__all__
