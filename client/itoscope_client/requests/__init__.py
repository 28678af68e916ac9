"""The parameters of jobs: their types, and a check of their names before anything is sent."""

from itoscope_client.requests.checking import belonging, checked, did_you_mean, fields_of
from itoscope_client.requests.documents import (
    JOBS,
    AnalysisParameters,
    IdentificationParameters,
    ModelTerms,
    PlanTarget,
    RollingWindows,
)

__all__ = [
    "JOBS", "AnalysisParameters", "IdentificationParameters", "ModelTerms", "PlanTarget",
    "RollingWindows", "belonging", "checked", "did_you_mean", "fields_of",
]  # fmt: skip
