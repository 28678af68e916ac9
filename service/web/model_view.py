"""The view of one model: its equations, the quantities derived from it, and its checks."""

from contract.results import IdentificationResult, ModelResult
from service.web import headline, mathml, sentences
from service.web.plots.checks import check_plots
from service.web.plots.dynamics import dynamics_plots
from service.web.plots.model import model_plots
from service.web.plots.plane import plane_plots
from service.web.plots.plot import Plot
from service.web.result_view import ResultView, data_in_words
from service.web.tables import tables


def model_view(result: ModelResult) -> ResultView:
    """Show an identification, or the analysis of a model."""
    units = sentences.units_of_result(result)
    source = (
        data_in_words(result.data)
        if isinstance(result, IdentificationResult)
        else "A model given by its terms"
    )
    return ResultView(
        template="result.html",
        subtitle=source,
        figures=list(headline.figures(result, units)),
        # The headline already says why there is no stationary distribution.
        warnings=[w for w in result.warnings if w.code != "not-ergodic"],
        plots=plots_of(result),
        tables=list(tables(result, units)),
        more={
            "general": mathml.general_equation(list(result.model.drift)),
            "equations": headline.equations(result),
            "columns": {
                name: units.columns[name]
                for name in result.model.drift
                if units.label(name) != name
            },
            "reason": sentences.without_distribution(result.generator.reason),
            "units": units,
            "generator": result.generator,
        },
    )


def plots_of(result: ModelResult) -> list[Plot]:
    """Draw every plot of a result, the most important first."""
    units, variables = sentences.units_of_result(result), list(result.model.drift)
    plots: list[Plot] = []
    if len(variables) == 1:
        plots += model_plots(result, units)
    else:
        plots += plane_plots(result, units, variables)
    plots += dynamics_plots(result, units)
    if isinstance(result, IdentificationResult):
        plots += check_plots(result, units)
    return plots
