"""The table of views, one for the result of each kind of job."""

from collections.abc import Callable, Mapping
from typing import Any

from service.web.comparison_view import comparison_view
from service.web.model_view import model_view
from service.web.plan_view import plan_view
from service.web.population_view import population_view
from service.web.result_view import ResultView
from service.web.rolling_view import rolling_view
from service.web.sweep_view import sweep_view

VIEWS: Mapping[str, Callable[[Any], ResultView]] = {
    "identification": model_view,
    "generator": model_view,
    "rolling": rolling_view,
    "plan": plan_view,
    "population": population_view,
    "sweep": sweep_view,
    "comparison": comparison_view,
}
