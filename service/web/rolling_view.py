"""The view of a rolling result: the trend of the spectral gap, and plots against time."""

from contract.rolling import RollingResult
from service.web import headline, sentences
from service.web.numbers import count
from service.web.plots.rolling import rolling_plots
from service.web.result_view import ResultView, data_in_words


def rolling_view(result: RollingResult) -> ResultView:
    """Show the windows along a time series."""
    units = sentences.units_of_data(result.data)
    return ResultView(
        subtitle=f"{count(len(result.windows))} windows of {data_in_words(result.data)}",
        sentence=sentences.trend(result),
        figures=list(headline.trend_figures(result, units)),
        warnings=result.warnings,
        plots_heading="Window by window",
        plots=list(rolling_plots(result, units)),
    )
