"""The name of a column: its unit, and its role as time, count of samples, or trajectory."""

import re
from typing import Final

_BRACKETED = re.compile(r"^(?P<name>.*?)\s*[\[({](?P<unit>[^\])}]{1,40})[\])}]\s*$")
_SLASHED = re.compile(r"^(?P<name>[^/]+?)\s*/\s*(?P<unit>[^/\s].{0,19})$")
_SUFFIXED = re.compile(r"^(?P<name>.+?)[_. ](?P<unit>[A-Za-zµμ%°]{1,10})$")


def words(text: str) -> frozenset[str]:
    """Return the set of words in a text that blanks separate."""
    return frozenset(text.split())


SECONDS: Final[dict[str, float]] = {
    name: seconds
    for seconds, spellings in {
        1e-15: "fs femtosecond femtoseconds",
        1e-12: "ps picosecond picoseconds",
        1e-9: "ns nanosecond nanoseconds",
        1e-6: "us µs μs microsecond microseconds",
        1e-3: "ms msec millisecond milliseconds",
        1.0: "s sec secs second seconds sekunden",
        60.0: "min mins minute minutes",
        3600.0: "h hr hrs hour hours std",
        86400.0: "d day days tage",
        604800.0: "w week weeks",
        2629800.0: "month months",
        31557600.0: "y yr yrs year years a annum jahre",
        31557600e3: "kyr ka kyears",
        31557600e6: "myr ma",
    }.items()
    for name in spellings.split()
}
"""Length of each unit of time [s]; a month is a twelfth of a year of 365.25 days."""

_STANDARD: Final = {
    SECONDS[name.lower()]: name
    for name in words("fs ps ns us ms s min h day week month year kyr Myr")
}
"""Short name of each unit of time, by its length [s]."""

_STATE_UNITS: Final = words(
    "m km cm mm um µm μm nm pm v mv uv µv a ma ua na pa n mn un pn k c degc mk deg degree "
    "degrees rad hz khz mhz ghz kpa hpa bar mbar j kj kcal ev mol mm um nm ppm ppb % permil db "
    "au arb kg g mg s ms"
)

_AMBIGUOUS_SUFFIXES: Final = words("c k a n j g s ma na")
"""Units that are more likely an index where they follow an underscore: `x_a`, `pop_n`."""

_TIME: Final = words(
    "t time times timestamp timestamps datetime date date_time epoch unix unixtime unix_time "
    "zeit zeitpunkt datum uhrzeit temps tiempo tempo fecha elapsed elapsed_time time_stamp "
    "time_elapsed clock age seconds sec secs minutes hours days weeks months years year hour "
    "minute second day month week recorded_at measured_at utc local_time localtime time_utc"
)
_AGE: Final = words("age ages age_bp bp years_bp year_bp kyr_bp yr_bp ka_bp cal_bp alter")
_FRAME: Final = words(
    "frame frames frame_id frame_number frame_no index idx step steps sample samples sample_no "
    "index_level_0 n nr no row i k"
)
_IDENTITY: Final = words(
    "id ids track tracks track_id trackid trajectory traj trajectory_id traj_id particle "
    "particles particle_id cell cell_id animal animal_id individual individual_id subject "
    "subject_id series series_id run run_id trial trial_id replicate replica rep realization "
    "realisation path path_id experiment experiment_id molecule molecule_id bead bead_id "
    "unit_id segment segment_id sweep episode group label name agent agent_id object object_id "
    "spur versuch"
)


def split_unit(name: str) -> tuple[str, str | None]:
    """Split a name from its unit: `x_um` → (x, um), `v [mV]` → (v, mV), `time (s)` → (time, s)."""
    name = name.strip()
    if match := _BRACKETED.match(name):
        return match["name"].strip() or name, match["unit"].strip()
    if match := _SLASHED.match(name):
        return match["name"].strip(), match["unit"].strip()
    if match := _SUFFIXED.match(name):
        unit = match["unit"].lower()
        if unit in _STATE_UNITS - _AMBIGUOUS_SUFFIXES or (
            unit in SECONDS and bare(match["name"]) in _TIME | _AGE
        ):
            return match["name"], match["unit"]
    return name, None


def bare(name: str) -> str:
    """Return a name as it is compared with others: in lower case, with single underscores."""
    return re.sub(r"[\s_.\-]+", "_", name.strip().lower()).strip("_")


def standard_time_unit(unit: str | None) -> str | None:
    """Return the short name of a unit of time, or the unit as written where it is not known."""
    if unit is None:
        return None
    seconds = SECONDS.get(unit.strip().lower())
    return unit if seconds is None else _STANDARD[seconds]


def unit_of_time_name(name: str) -> str | None:
    """Return the unit where the name of a time column is itself one, such as `seconds`."""
    word = bare(name)
    return standard_time_unit(word) if word in _TIME and word in SECONDS else None


def is_time(name: str) -> bool:
    """Return whether a column of this name is time."""
    word = bare(split_unit(name)[0])
    return word in _TIME or is_age(name)


def is_age(name: str) -> bool:
    """Return whether a column of this name counts time before the present."""
    return bare(split_unit(name)[0]) in _AGE or bare(name) in _AGE


def is_frame(name: str) -> bool:
    """Return whether a column of this name counts samples."""
    return bare(name) in _FRAME


def is_identity(name: str) -> bool:
    """Return whether a column of this name tells trajectories apart."""
    return bare(name) in _IDENTITY


def has_role(name: str | None) -> bool:
    """Return whether a column of this name, or without one, may be something other than state."""
    return not name or is_time(name) or is_frame(name) or is_identity(name)


def looks_like_unit(cell: str) -> bool:
    """Return whether a cell under a header is a unit: `[s]`, `(nm)`, `mV`."""
    cell = cell.strip()
    return (
        bool(re.fullmatch(r"[\[({].{0,30}[\])}]", cell))
        or cell.lower() in _STATE_UNITS
        or cell.lower() in SECONDS
    )
