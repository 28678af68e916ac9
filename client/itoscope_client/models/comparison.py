"""What differs between groups, and the model of each."""

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from itoscope_client.errors import needed
from itoscope_client.models.model import Ask, Model
from itoscope_client.models.numbers import with_interval
from itoscope_client.models.spelling import in_symbols

Row = dict[str, Any]


class Comparison:
    """Groups compared: `comparison.summary`, `comparison.table`, `comparison["treated"]`.

    document   the service's result document, with what has no property here
    """

    def __init__(self, document: Mapping[str, Any], *, ask: Ask | None = None) -> None:
        self.document = document
        self.in_symbols: Mapping[str, Any] = in_symbols(document)
        """The document with the file's names in place of x, y, z."""
        self.models: Mapping[str, Model] = {
            group["group"]: Model(_alone(document, group), ask=ask) for group in document["groups"]
        }
        """Model of each group, the reference first; all have the same terms."""

    @property
    def job_id(self) -> str:
        """Identifier of the job that compared the groups."""
        return str(self.document["job"])

    @property
    def summary(self) -> str:
        """What differs, in sentences."""
        return " ".join(self.document["summary"])

    @property
    def reference(self) -> str:
        """Group that the others are compared with."""
        return str(self.document["reference"])

    @property
    def table(self) -> tuple[Row, ...]:
        """A row for each coefficient and each quantity, and each group besides the reference.

        `contrast` is a ratio, or where there is none a difference to the reference, with its
        interval from `low` to `high`.
        """
        return tuple(self._rows())

    @property
    def warnings(self) -> tuple[Mapping[str, Any], ...]:
        """Findings about any group, with its name, and about the comparison."""
        of_groups = (
            {**warning, "message": f"Group {group['group']}: {warning['message']}"}
            for group in self.document["groups"]
            for warning in group.get("warnings", ())
        )
        return (*self.document.get("warnings", ()), *of_groups)

    def __getitem__(self, group: str) -> Model:
        """Return the model of a group. Raises KeyError."""
        return self.models[group]

    def __iter__(self) -> Iterator[str]:
        """Yield the names of the groups."""
        return iter(self.models)

    def __len__(self) -> int:
        return len(self.models)

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame. Raises MissingDependency."""
        return needed("pandas", "to_frame()").DataFrame(list(self.table))

    def __reduce__(self) -> tuple[Any, ...]:
        return Comparison, (self.document,)

    def __repr__(self) -> str:
        lines = [f"  {sentence}" for sentence in self.document["summary"]]
        return "\n".join([f"<Comparison of {', '.join(self.models)}", *lines, ">"])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{name}</th>" for name in ("", "", "group", "contrast", "p"))
        body = "".join(
            f"<tr><td>{escape(row['component'])}</td><td>{escape(row['what'])}</td>"
            f"<td>{escape(row['group'])}</td><td>{escape(contrast_of(row))}</td>"
            f"<td>{row['p_value']:.2g}</td></tr>"
            for row in self.table
        )
        return f"<p>{escape(self.summary)}</p><table><tr>{head}</tr>{body}</table>"

    def _rows(self) -> Iterator[Row]:
        found = self.in_symbols
        for function in ("drift", "diffusion"):
            for key, component in found[function].items():
                name = function if len(found["drift"]) == 1 else f"{function} {key}"
                for term in component["terms"]:
                    pairs = zip(term["ratios"], term["differences"], strict=True)
                    for ratio, difference in pairs:
                        known = ratio["value"] is not None
                        yield {
                            "component": name,
                            **_row(term, term["term"], ratio if known else difference, known),
                        }
        for quantity in found["quantities"]:
            for contrast in quantity["contrasts"]:
                is_ratio = quantity["contrast"] == "ratio"
                row = _row(quantity, quantity["name"], contrast, is_ratio)
                yield {"component": "quantity", **row}


def contrast_of(row: Row) -> str:
    """Write the contrast of a row of the table, with its interval."""
    text, interval = with_interval(row["contrast"], (row["low"], row["high"]))
    sign = "×" if row["is_ratio"] else "difference"
    return f"{sign} {text} {interval}".rstrip()


def _row(of: Mapping[str, Any], what: str, contrast: Mapping[str, Any], is_ratio: bool) -> Row:
    values = {value["group"]: value["value"] for value in of["values"]}
    low, high = contrast["ci"] or (None, None)
    return {
        "what": what,
        "group": contrast["group"],
        "value": values[contrast["group"]],
        "reference": next(iter(values.values())),
        "contrast": contrast["value"],
        "low": low,
        "high": high,
        "is_ratio": is_ratio,
        "p_value": of["p_value"],
        "adjusted_p_value": of["adjusted_p_value"],
    }


def _alone(document: Mapping[str, Any], group: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result of one group like a single job's, except for its `kind`."""
    return {
        **{name: document.get(name) for name in ("schema_version", "kind", "job", "provenance")},
        **{name: group.get(name) for name in ("data", "model", "generator", "warnings")},
    }
