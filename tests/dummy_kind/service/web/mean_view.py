"""The mean of each variable, as figures."""

from contract.mean import MeanResult
from service.web.numbers import plain
from service.web.result_view import Figure, ResultView


def mean_view(result: MeanResult) -> ResultView:
    """Show the means."""
    return ResultView(
        subtitle=f"{len(result.means)} variable",
        sentence="The mean is all there is.",
        figures=[
            Figure(f"mean of {name}", plain(value, 4)) for name, value in result.means.items()
        ],
    )
