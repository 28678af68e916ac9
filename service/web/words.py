"""Messages in the words of the page: labels of its fields for parameters, its lists for addresses.

Messages are written for those who send requests. The same table is applied here, to what is
rendered, and by static/words.js to what the service answers.
"""

import re
from functools import cache
from typing import Any

from service.web.forms import labels, layout_fields

ADDRESSES = (
    (r"GET /v1/jobs lists (your jobs|yours)\.", "The page Jobs lists yours."),
    (r"GET /v1/datasets lists (your datasets|yours)\.", "The page Datasets lists yours."),
    (r"GET /v1/batches lists your batches\.", "The page Batches lists yours."),
    (
        r"POST /v1/batches/\S+ first, and wait for those that run\.",
        "Cancel them first, and wait for those that run.",
    ),
    (r"The JSON Schema of batches is at /v1/schemas/batch-request\.", ""),
    (r"GET /docs lists the addresses\.", "The pages at the top lead to everything there is."),
    (r"POST /v1/jobs/\S+ first\.", "Cancel it first."),
    (r" ?For new jobs, an Idempotency-Key makes this safe\.", ""),
    (r"\bupload again\b", "read the file again"),
)
"""What the page says instead of addresses: a pattern, and its replacement."""
PERIOD = (
    r"`?parameters\.periodic \{\"?([^\s\":]+)\"?: ([^}]+)\}`?",
    "$2 in the field “Period of $1, if it is an angle”",
)
SINGLE = ("sampling_rule", "diffusion_structure", "measurement_noise", "state_columns", "id_column")
"""Names of fields that messages use alone. Others are only found with the object they are in."""


@cache
def table() -> list[tuple[str, str]]:
    """List patterns and replacements, in the order in which they are applied."""
    found = [*ADDRESSES, PERIOD]
    named = {path.removesuffix("/x"): label for path, label in labels().items()}
    named |= {f"layout/{field.path}": field.label for field in layout_fields()}
    named |= {"parameters/periodic": "Period", "parameters/domain": "Bounds"}
    named |= {"parameters/forcing": "Forcing", "parameters/constraints": "Constraints"}
    named |= {"analysis/inputs": "Value in the analysis"}
    named |= {"parameters/measurement_noise/std_error": "Known measurement error"}
    named |= {
        f"parameters/constraints/{name}/drift": f"{label} of the drift"
        for name, label in (
            ("known", "Known terms"),
            ("required", "Required terms"),
            ("excluded", "Excluded terms"),
            ("bounds", "Bounds of coefficients"),
        )
    }
    for path, label in sorted(named.items(), key=lambda item: -len(item[0])):
        first, _, rest = path.replace("/", ".").partition(".")
        # A parameter may be named with or without the document that holds it.
        optional = "." in rest or rest in SINGLE
        start = rf"(?:{first}\.)?" if optional else rf"{first}\."
        found.append((rf"`?(?<![\w.]){start}{re.escape(rest)}(?![\w.]*\w)`?", f"“{label}”"))
    return [*found, ("`", "")]


def on_page(text: str) -> str:
    """Write a message in the words of the page."""
    for pattern, said in _compiled():
        text = pattern.sub(said, text)
    return text


@cache
def _compiled() -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(pattern), re.sub(r"\$(\d)", r"\\\1", said)) for pattern, said in table()]


def words() -> list[dict[str, Any]]:
    """Return the table as the JSON that the page's script reads."""
    return [{"pattern": pattern, "said": said} for pattern, said in table()]
