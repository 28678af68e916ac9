"""The name of a column: its unit, and its role as time, count of samples, or trajectory."""

import re
from calendar import month_name
from typing import Final

_BRACKETED = re.compile(r"^(?P<name>.*?)\s*[\[({](?P<unit>[^\])}]{1,40})[\])}]\s*$")
_SLASHED = re.compile(r"^(?P<name>[^/]+?)\s*/\s*(?P<unit>[^/\s].{0,19})$")
_LOGGER = re.compile(r"^(?P<name>[^,]+), (?P<unit>[^\s,():]{1,12})\s*\((?:LGR|SEN) S/N: [^)]*\)$")
_SUFFIXED = re.compile(r"^(?P<name>.+?)[_. ](?P<unit>[A-Za-zµμ%°]{1,10})$")
_POSITION = re.compile(r"column \d+")


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
    "au arb kg g mg s ms volt volts ampere amperes amp amps kelvin celsius newton pascal meter "
    "metre meters metres watt watts tesla hertz w pw mw kw"
)

_AMBIGUOUS_SUFFIXES: Final = words("c k a n j g s ma na")
"""Units that are more likely an index where they follow an underscore: `x_a`, `pop_n`."""

_TIME: Final = words(
    "t time times timestamp timestamps datetime date date_time epoch unix unixtime unix_time "
    "zeit zeitpunkt datum uhrzeit temps tiempo tempo fecha elapsed elapsed_time time_stamp "
    "time_elapsed clock age seconds sec secs minutes hours days weeks months years year hour "
    "minute second day month week recorded_at measured_at utc local_time localtime time_utc "
    "position_t pos_t t_position x_value decimal decimal_date decimal_year decyear dec_year yrfrac "
    "year_fraction fractional_year yr mo dy hr datetime_utc date_utc time_stamp_utc timestamp_utc "
    "simulation_time sim_time recording_time trial_time"
)
_AGE: Final = words("age ages age_bp bp years_bp year_bp kyr_bp yr_bp ka_bp cal_bp alter")
_FRAME: Final = words(
    "frame frames frame_id frameid frame_idx frame_index frame_number frame_no frame_nr "
    "framenumber imagenumber image_number slice slice_number step steps timestep timesteps "
    "time_step time_steps timepoint "
    "time_point time_index bildnummer coords bodyparts image_frame"
)
"""Names of a count of samples that all trajectories share."""
_ROW_NUMBER: Final = words(
    "index idx sample samples sample_no index_level_0 n nr no row i k # loc_idx locidx spot_idx "
    "pt pts point serial seq sequence record rec obs observation line objectnumber object_number"
)
"""Names of a running number of rows; a state may bear the short ones, too."""
_IDENTITY: Final = words(
    "id ids track tracks track_id trackid trajectory traj trajectory_id traj_id particle "
    "particles particle_id cell cell_id animal animal_id individual individual_id subject "
    "subject_id series series_id run run_id trial trial_id replicate replica rep realization "
    "realisation path path_id experiment experiment_id molecule molecule_id bead bead_id "
    "unit_id segment segment_id sweep episode group label name agent agent_id object object_id "
    "spur versuch molecule_idx particle_idx track_idx track_number trackno track_no "
    "trajectory_number trajectory_no traj_no n_track tid pid trajectory_index traj_idx track_index "
    "individual_local_identifier tag_local_identifier individual_identifier tag_identifier "
    "animal_name bird_id fish_id mouse_id fly_id worm_id ant_id trackn source_track segment_no "
    "movie movie_id movie_no film video video_id fov field_of_view file file_id filename file_name "
    "station station_id site site_id buoy ticker symbol recording recording_id "
    "trackobjects_label well well_id roi roi_id stack dataset session session_id position_id"
)
_RUNNING_NUMBER: Final = re.compile(
    r"(?:.*_)?(?:ids?|idx|identifier|uid|uuid|guid|nr|no|number|label)\Z|#\Z", re.ASCII
)
"""Names under which programs number rows, such as `spot_id` and `event-id`."""

_ERROR: Final = re.compile(
    r"(?:.*_)?(?:err|error|errors|stderr|std_err|se|sem|std|stdev|std_dev|sd|unc|uncert|"
    r"uncertainty|precision|ci|ci_low|ci_high|lower|upper|crlb|lp|lpx|lpy|lpz|chi2|chisq|rmse|"
    r"likelihood|loglikelihood|log_likelihood|llh|probability|prob|pvalue|p_value|confidence|"
    r"score|quality|prob_?id\d*|qc|flag|flags|qflag|qc_flag|quality_flag|visibility|visible|snr|"
    r"crlb_x|crlb_y|sigma_[xyz]|s[xyz]_err|d[xyz]_err|fehler|unsicherheit)(?:_[xyz]{1,3})?\Z",
    re.ASCII,
)
"""Names of errors and of measures of quality, which are never states beside another column."""

_SPOT_PROPERTY: Final = words(
    "mass size ecc eccentricity signal raw_mass ep area radius diameter perimeter circ circularity "
    "ar round roundness solidity feret feretx ferety feretangle minferet major minor angle "
    "intden rawintden mean min max mode median skew kurt stddev mean_intensity min_intensity "
    "max_intensity median_intensity total_intensity std_intensity contrast intensity intensities "
    "photons photon_count bg background bkgstd offset amplitude amp sigma sigma1 sigma2 sigma_x "
    "sigma_y sx sy ellipticity net_gradient n_id iterations group_input length gap gaps channel "
    "manual_spot_color manual_color spot_color estimated_diameter detections n_segments "
    "i0 bg_median brightness peak volume n_pixels npixels pixels width height ch slice z_index "
    "spot_intensity manual_edge_color ctrst mean_intensity_ch1 median_intensity_ch1 "
    "min_intensity_ch1 max_intensity_ch1 total_intensity_ch1 std_intensity_ch1 contrast_ch1 "
    "m0 m1 m2 m3 m4 npscore i i_val "
    "snr_ch1 mean_ch1 median_ch1 min_ch1 max_ch1 sum_ch1 std_ch1 ctrst_ch1 total_ch1 dx dy dz "
    "displacement d2 error_x error_y ground_speed heading height_above_ellipsoid "
    "height_above_msl gps_hdop gps_vdop gps_dop hdop vdop gps_satellite_count satellites "
    "external_temperature battery tag_voltage event_label sensor_type speed msd velocity distance "
    "distance_moved pixel_value len d2s d2r d2p h_det y_detect x_detect n_iter areachange "
    "elongation direction"
)
"""Names that trackers and localisation programs give to properties of a spot. They are states
only where no coordinates are beside them."""
_AMBIGUOUS_PROPERTY: Final = words(
    "angle heading speed velocity distance direction len length width height volume displacement "
    "i dx dy dz"
)
"""Properties of spots that are states as often; they need another property beside them."""
_AXES: Final = {
    name: axis
    for axis, names in enumerate(
        (
            "x xm x_centroid centroid_x position_x pos_x x_position x_coord x_pos coord_x "
            "location_long longitude lon long x_center center_x x_nm x_um x_px "
            "utm_easting easting x_mm",
            "y ym y_centroid centroid_y position_y pos_y y_position y_coord y_pos coord_y "
            "location_lat latitude lat y_center center_y y_nm y_um y_px "
            "utm_northing northing y_mm",
            "z z_centroid centroid_z position_z pos_z z_position z_coord z_pos coord_z z_nm z_um",
        )
    )
    for name in names.split()
}
"""Axis of a coordinate, by its name."""
_REPLICATE: Final = re.compile(
    r"(?P<word>cell|track|trial|run|replicate|rep|trajectory|traj|path|realization|realisation|"
    r"subject|animal|individual|experiment|sweep|episode|series|particle|versuch|spur|zelle|"
    r"mouse|fish|worm|fly|participant|patient|walker|sim|simulation|repeat)[\s_\-.#]*(?:no[\s_.]*)?"
    r"(?P<number>\d+)\Z",
    re.ASCII | re.IGNORECASE,
)
_LONG_MONTHS: Final = tuple(name.lower() for name in month_name[1:])


def split_unit(name: str) -> tuple[str, str | None]:
    """Split a name from its unit: `x_um` → (x, um), `v [mV]` → (v, mV), `time (s)` → (time, s)."""
    name = name.strip()
    if match := _LOGGER.match(name):
        return match["name"].strip(), match["unit"].strip()
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


def is_position(name: str) -> bool:
    """Return whether a name is that of a column without one, by its number: `column 3`."""
    return bool(_POSITION.fullmatch(name))


def bare(name: str) -> str:
    """Return a name as it is compared with others: in lower case, with single underscores."""
    word = re.sub(r"\s*n[°º]$|^<|>$", "", name.strip().lower())
    return re.sub(r"[\s_.:\-]+", "_", word).strip("_")


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
    word, unit = bare(split_unit(name)[0]), split_unit(name)[1]
    return (word in _TIME and not _is_count(unit)) or is_age(name)


def _is_count(unit: str | None) -> bool:
    """Return whether a time is counted in frames."""
    return unit is not None and bare(unit) in ("frame", "frames", "slice", "slices")


def is_age(name: str) -> bool:
    """Return whether a column of this name counts time before the present."""
    return bare(split_unit(name)[0]) in _AGE or bare(name) in _AGE


def is_frame(name: str) -> bool:
    """Return whether a column of this name counts the samples of all trajectories."""
    word, unit = split_unit(name)
    return bare(word) in _FRAME or bare(name) in _FRAME or (bare(word) in _TIME and _is_count(unit))


def is_row_number(name: str) -> bool:
    """Return whether a column of this name numbers rows; a state may bear this name, too."""
    word = bare(name)
    return word in _ROW_NUMBER or word.startswith("unnamed") or bool(_RUNNING_NUMBER.match(word))


def is_identity(name: str) -> bool:
    """Return whether a column of this name tells trajectories apart."""
    return re.sub(r"(?<=^trackobjects_label)_\d+$", "", bare(name)) in _IDENTITY


def is_error(name: str) -> bool:
    """Return whether a column of this name is an error or a measure of quality."""
    return bool(_ERROR.match(bare(split_unit(name)[0])))


def is_spot_property(name: str) -> bool:
    """Return whether a tracker gives this name to a property of a spot."""
    return bare(split_unit(name)[0]) in _SPOT_PROPERTY


def may_be_state(name: str) -> bool:
    """Return whether a property of a spot is as often a state: `angle`, `speed`."""
    return bare(split_unit(name)[0]) in _AMBIGUOUS_PROPERTY


def axis_of(name: str | None) -> int | None:
    """Return the axis of a coordinate (0 for x, 1 for y, 2 for z) by its name; None for others."""
    return _AXES.get(bare(split_unit(name)[0])) if name else None


def replicate_word(name: str | None) -> str | None:
    """Return the word of a numbered column of one trajectory, `cell` for `cell 3`; else None."""
    match = _REPLICATE.match(split_unit(name)[0].strip()) if name else None
    return match["word"].lower() if match else None


def month_of(name: str | None) -> int | None:
    """Return the number of the month that a name or text is, in English; None for others."""
    word = name.strip().lower().rstrip(".") if name else ""
    if len(word) < 3:
        return None
    return next((k for k, long in enumerate(_LONG_MONTHS, 1) if long.startswith(word)), None)


def has_role(name: str | None) -> bool:
    """Return whether a column of this name, or without one, may be something other than state."""
    return (
        not name
        or is_time(name)
        or is_frame(name)
        or is_identity(name)
        or is_row_number(name)
        or bare(name)
        in (
            "doy",
            "day_of_year",
            "julian_day",
            "yday",
            "hhmm",
            "quarter",
            "qtr",
            "period",
            "seas",
            "season",
        )
    )


def looks_like_unit(cell: str) -> bool:
    """Return whether a cell under a header is a unit: `[s]`, `(nm)`, `mV`."""
    cell = cell.strip().strip('"')
    if re.fullmatch(r"[\[({].{0,30}[\])}]", cell):
        return True
    factors = (re.sub(r"[²³]|\^?-?\d$", "", part) for part in re.split(r"[/·*]", cell.lower()))
    return all(factor in _STATE_UNITS or factor in SECONDS for factor in factors)
