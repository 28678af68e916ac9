"""What the comment lines of a text table say: names of the columns, and the sampling interval."""

import re
from dataclasses import dataclass, field

from service.readers.cells import kind_of

MARKS = ("#", "%", "@", "//", "!", "&", '"#')
"""What a comment line starts with."""

_DT = re.compile(
    r"(?:\bdt|\bdelta[ _]?t|\bΔt|\btime[ _]?step|\bsampling[ _](?:interval|period|time)|\bframe[ _]interval)"
    r"\s*(?:\(?\[?(?P<u1>[a-zµ]{1,3})\]?\)?)?\s*[:=]?\s*(?P<value>\d*\.?\d+(?:[eE][+-]?\d+)?)\s*(?P<u2>fs|ps|ns|us|µs|ms|s|min|h)?\b",
    re.IGNORECASE,
)
_XVG_LABEL = re.compile(r'^@\s*(?:(?P<axis>[xy])axis\s+label|s(?P<set>\d+)\s+legend)\s+"(?P<text>[^"]*)"')
_IDENTIFIER = re.compile(r"[A-Za-zµΔ_][\w.]{0,20}(?:\s?[\[(/][^\])]{0,15}[\])]?)?\Z")


@dataclass(slots=True)
class Preamble:
    """Comment lines above the data, in order."""

    comments: list[str] = field(default_factory=list)
    n_skipped: int = 0
    """Lines above the header that are neither comments nor data."""

    def skipped(self, n_lines: int) -> None:
        """Note lines that were passed over."""
        self.n_skipped = n_lines

    def dt(self) -> tuple[float, str | None, str] | None:
        """Sampling interval, its unit and the comment that names it, where exactly one value is named."""
        found = {}
        for comment in self.comments:
            for match in _DT.finditer(comment):
                if (value := float(match["value"])) > 0:
                    found[value] = (value, match["u2"] or match["u1"], match[0].strip())
        return next(iter(found.values())) if len(found) == 1 else None

    def names(self, width: int, delimiter: str | None) -> list[str] | None:
        """Names of `width` columns from xvg labels, or from a last comment line that reads like a header."""
        labels: dict[str, str] = {}
        for comment in self.comments:
            if match := _XVG_LABEL.match(comment):
                labels[match["axis"] or match["set"]] = match["text"].strip()
        if labels.get("x"):
            rest = [labels.get(str(j)) or (labels.get("y") if j == 0 else None) or "" for j in range(width - 1)]
            return [labels["x"], *rest]
        if not self.comments:
            return None
        last = re.sub(r"^[#%@!&/\"\s]+", "", self.comments[-1]).strip()
        cells = [cell.strip().strip('"') for cell in (last.split(delimiter) if delimiter else last.split())]
        if len(cells) != width or len(set(cells)) != width:
            return None
        if not all(_IDENTIFIER.match(cell) and kind_of(cell, ".") == "text" for cell in cells):
            return None
        return cells
