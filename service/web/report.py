"""A result as one HTML file that opens offline: it contains its styles, script and numbers."""

from service.web.site import assets, bundle, hash_of, rendered
from service.web.views import Finished, result_values


def report(finished: Finished) -> tuple[str, str]:
    """Return the page, and the content security policy that allows exactly what it contains."""
    styles = [_text("uplot/uPlot.min.css"), _text("style.css")]
    uplot, plots = _text("uplot/uPlot.iife.min.js"), bundle() + "\n" + _text("report.js")
    policy = (
        f"default-src 'none'; script-src {hash_of(uplot)} {hash_of(plots)}; "
        f"style-src {' '.join(map(hash_of, styles))}; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    page = rendered(
        "report.html",
        **result_values(finished),
        styles=styles,
        uplot=uplot,
        script=plots,
        policy=policy,
    )
    return page, policy


def _text(name: str) -> str:
    return assets()[name].body.decode()
