"""One Ornstein–Uhlenbeck record in the spellings of the trade: trackers, loggers, markets, tools.

Every entry of `SPELLINGS` is a file made from the same numbers, and what its authors mean by it.
A file that the service does not read has the words by which the refusal names the true cause.
"""

import io
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet
import scipy.io

N, N_TRACKS = 240, 6
M = N // N_TRACKS
DT = 0.05


def _ou() -> tuple[np.ndarray, np.ndarray]:
    """Draw two paths of dX = −X dt + dW, which is 0.2 time units per sample."""
    rng = np.random.default_rng(17)
    path = np.zeros((N, 2))
    for k in range(1, N):
        path[k] = 0.8187 * path[k - 1] + 0.4059 * rng.normal(size=2)
    x, y = np.round(path, 4).T
    return x, y


X, Y = _ou()
K = np.arange(N)
T = np.round(DT * K, 2)
FRAME, TRACK = np.tile(np.arange(M), N_TRACKS), np.repeat(np.arange(N_TRACKS), M)
QUALITY = np.round(3 + (K * 37 % 101) / 17, 3)
"""Numbers that go up and down and are no state: quality, brightness, width of a spot."""
PRICE = np.round(100 + X, 2)
HOURS = np.datetime64("2019-12-30T00:00") + 60 * K
DAYS = np.datetime64("2019-11-20") + K
MONTHS = np.datetime64("1995-01") + K
QUARTERS = np.datetime64("1955-01") + 3 * K


@dataclass(frozen=True)
class Spelling:
    """A file, the layout it is read with, and what it means."""

    name: str
    data: bytes
    states: np.ndarray
    """(n, d) states, trajectory after trajectory."""
    times: np.ndarray | None
    """(n,) times since the first one of the record; None where the file holds no clock: dt = 1."""
    lengths: tuple[int, ...]
    """Samples of each trajectory."""
    unit: str | None = None
    layout: dict[str, Any] = field(default_factory=dict)
    filename: str | None = None
    codes: frozenset[str] = frozenset()
    """Warnings that must be among those of the report."""
    cause: str | None = None
    """Words of the refusal; None where the file is read."""
    near: float = 1e-9
    """Largest deviation of a time; printed digits are rounded."""
    pieces: int | None = None
    """Number of segments, where the record must be cut."""


SPELLINGS: list[Spelling] = []


def add(
    name: str,
    data: str | bytes,
    states: Any = X,
    times: Any = T,
    *,
    lengths: Sequence[int] | None = None,
    encoding: str = "utf-8",
    codes: str = "",
    unit: str | None = None,
    filename: str | None = None,
    cause: str | None = None,
    pieces: int | None = None,
    near: float = 1e-9,
    **layout: Any,
) -> None:
    """Add a spelling to the list."""
    states = np.asarray(states, dtype=float)
    states = states[:, None] if states.ndim == 1 else states
    body = data.encode(encoding) if isinstance(data, str) else data
    SPELLINGS.append(
        Spelling(
            name,
            body,
            states,
            None if times is None else np.asarray(times, dtype=float),
            tuple(lengths or (len(states),)),
            unit,
            layout,
            filename,
            frozenset(codes.split()),
            cause,
            near,
            pieces,
        )
    )


def rows(*columns: Iterable[Any], sep: str = ",", end: str = "") -> list[str]:
    """Write columns side by side."""
    return [sep.join(map(str, row)) + end for row in zip(*columns, strict=True)]


def text(*parts: str | Iterable[str], newline: str = "\n") -> str:
    """Join header lines and rows."""
    lines = [line for part in parts for line in ([part] if isinstance(part, str) else part)]
    return newline.join(lines) + newline


def of(form: str, dates: Any) -> list[str]:
    """Write dates."""
    return [date.astype("datetime64[us]").item().strftime(form) for date in dates]


def comma(values: Iterable[Any]) -> list[str]:
    """Write numbers with a decimal comma."""
    return [str(value).replace(".", ",") for value in values]


def all_(value: Any) -> list[Any]:
    """Repeat a cell in every row."""
    return [value] * N


def days_of(dates: Any) -> np.ndarray:
    """Count days since the first date."""
    days = dates.astype("datetime64[D]").astype(float)
    return np.asarray(days - days[0])


PLANE = np.column_stack([X, Y])
BY_FRAME = np.argsort(FRAME, kind="stable")
"""Rows of tracks in the order of frames, as trackers write them."""
TRACK_TIMES = FRAME * DT
HOURLY, DAILY, MONTHLY = 3600.0 * K, days_of(DAYS), days_of(MONTHS)


def tracks(name: str, data: str | bytes, times: Any = TRACK_TIMES, **given: Any) -> None:
    """Add a spelling of six tracks of the record."""
    states = given.pop("states", PLANE)
    add(name, data, states, times, lengths=[M] * N_TRACKS, **given)


def by_frame(*columns: Any, sep: str = ",") -> list[str]:
    """Write columns in the order of frames."""
    return rows(*(np.asarray(column, dtype=object)[BY_FRAME] for column in columns), sep=sep)


# --- trackers -----------------------------------------------------------------------------------

Q = QUALITY
tracks(
    "trackpy",
    text(
        ",y,x,mass,size,ecc,signal,raw_mass,ep,frame,particle",
        by_frame(K, Y, X, Q, Q[::-1], Q, Q, Q, all_("nan"), FRAME, TRACK),
    ),
    dt=DT,
)
tracks(
    "trackpy-without-index",
    text(
        "y,x,mass,size,ecc,signal,raw_mass,ep,frame,particle",
        by_frame(Y, X, Q, Q, Q[::-1], Q, Q, Q, FRAME, [f"{k}.0" for k in TRACK]),
    ),
    dt=DT,
)
tracks(
    "trackpy-index-named-frame",
    text("frame,y,x,mass,frame.1,particle", by_frame(FRAME, Y, X, Q, FRAME, TRACK)),
    dt=DT,
)
SPOT = (K + 1000, TRACK, Q, X, Y, all_("0.0"), TRACK_TIMES.round(2), FRAME, all_("0.2"))
NEW_HEADER = (
    "LABEL,ID,TRACK_ID,QUALITY,POSITION_X,POSITION_Y,POSITION_Z,POSITION_T,FRAME,RADIUS",
    "Label,Spot ID,Track ID,Quality,X,Y,Z,T,Frame,Radius",
    "Label,Spot ID,Track ID,Quality,X,Y,Z,T,Frame,R",
    ",,,(quality),(micron),(micron),(micron),(sec),,(micron)",
)
LABELS = [f"ID{k + 1000}" for k in K]
tracks("trackmate-7", text(NEW_HEADER, rows(LABELS, *SPOT)), unit="s", codes="constant-column")
tracks("trackmate-7-by-frame", text(NEW_HEADER, by_frame(LABELS, *SPOT)), unit="s")
tracks(
    "trackmate-7-colour",
    text(
        [
            line + more
            for line, more in zip(
                NEW_HEADER,
                (
                    ",VISIBILITY,MANUAL_SPOT_COLOR,MEAN_INTENSITY_CH1,SNR_CH1",
                    ",Visibility,Manual spot color,Mean intensity ch1,Signal/Noise ratio ch1",
                    ",Visibility,Spot color,Mean ch1,SNR ch1",
                    ",,,(counts),",
                ),
                strict=True,
            )
        ],
        rows(LABELS, *SPOT, all_(1), all_(""), Q, Q[::-1]),
    ),
    unit="s",
)
tracks(
    "trackmate-old",
    text(
        " \tLabel\tID\tTRACK_ID\tQUALITY\tPOSITION_X\tPOSITION_Y\tPOSITION_Z\tPOSITION_T\tFRAME"
        "\tRADIUS\tVISIBILITY\tMANUAL_COLOR\tMEAN_INTENSITY\tESTIMATED_DIAMETER\tSNR",
        rows(K + 1, LABELS, *SPOT, all_(1), all_(-10921639), Q, Q, Q[::-1], sep="\t"),
    ),
)
tracks(
    "trackmate-some-spots-without-track",
    text(
        NEW_HEADER[0],
        rows(
            [f"ID{k}" for k in range(N + 5)],
            range(N + 5),
            [*TRACK, *["None"] * 5],
            [*Q, *[1.0] * 5],
            [*X, *[50.0] * 5],
            [*Y, *[50.0] * 5],
            [0.0] * (N + 5),
            [*TRACK_TIMES.round(2), *[0.1] * 5],
            [*FRAME, *[2] * 5],
            [0.2] * (N + 5),
        ),
    ),
    codes="rows-without-identity",
)
add(
    "imagej-results",
    text(
        " ,Area,Mean,Min,Max,X,Y,Slice",
        rows(K + 1, Q, Q[::-1], all_(12), all_(255), X, Y, K + 1),
    ),
    PLANE,
    dt=DT,
)
add(
    "imagej-results-tabs",
    text(
        " \tLabel\tArea\tXM\tYM\tFeretAngle\tSlice",
        rows(K + 1, [f"film.tif:{k + 1}" for k in K], Q, X, Y, Q[::-1], K + 1, sep="\t"),
    ),
    PLANE,
    dt=DT,
)
STEP_LENGTH = np.where(
    FRAME == 0, -1.0, np.round(np.hypot(*np.diff(PLANE, axis=0, prepend=0).T), 3)
)
tracks(
    "imagej-manual-tracking",
    text(
        " \tTrack n°\tSlice n°\tX\tY\tDistance\tVelocity\tPixel Value",
        rows(
            K + 1, TRACK + 1, FRAME + 1, X, Y, STEP_LENGTH,
            np.round(STEP_LENGTH / DT, 3), 90 + K % 7, sep="\t",
        ),
    ),
    dt=DT,
    encoding="cp1252",
)  # fmt: skip
tracks(
    "imagej-mtrackj",
    text(
        "Nr\tTID\tPID\tx [pixel]\ty [pixel]\tt [sec]\tI [val]\tLen [pixel]\tD2S [pixel]",
        rows(K + 1, TRACK + 1, FRAME + 1, X, Y, TRACK_TIMES.round(2), 90 + K % 7, Q, Q, sep="\t"),
    ),
    unit="s",
)
tracks(
    "mosaic",
    text(
        " ,Trajectory,Frame,x,y,z,m0,m1,m2,m3,m4,NPscore",
        rows(K + 1, TRACK + 1, FRAME, X, Y, all_("0.000"), Q, Q, Q, Q, Q, all_("0.000")),
    ),
    dt=DT,
)
tracks(
    "saspt",
    text("loc_idx,y,x,I0,frame,trajectory", by_frame(K, Y, X, Q, FRAME, TRACK)),
    dt=DT,
)
tracks(
    "quot",
    text(
        "y,x,I0,bg,y_err,x_err,H_det,error_flag,snr,rmse,n_iter,y_detect,x_detect,frame,trajectory",
        by_frame(
            Y, X, Q, Q, Q / 100, Q / 90, Q, all_(0), Q, Q, all_(4),
            np.round(Y), np.round(X), FRAME, TRACK,
        ),
    ),
    dt=DT,
)  # fmt: skip
tracks(
    "spot-on",
    text(",trajectory,frame,t,x,y", rows(K, TRACK, FRAME, TRACK_TIMES.round(2), X, Y)),
)
tracks(
    "extrack",
    text("POSITION_X,POSITION_Y,FRAME,ID", rows(X, Y, FRAME, TRACK)),
    dt=DT,
)
tracks(
    "extrack-predictions",
    text("X,Y,frame,track_ID,LP,pred_0,pred_1", rows(X, Y, FRAME, TRACK, Q, Q, 1 - Q)),
    dt=DT,
    state_columns=("X", "Y"),
)
PICASSO = "frame,x,y,photons,sx,sy,bg,lpx,lpy,ellipticity,net_gradient"
tracks(
    "picasso-tracks",
    text(
        PICASSO + ",n_id,track_id",
        by_frame(FRAME, X, Y, Q, Q, Q, Q, Q / 99, Q / 98, Q, Q, TRACK, TRACK),
    ),
    dt=DT,
)
add(
    "picasso-one-spot",
    text(PICASSO, rows(K, X, Y, Q, Q, Q[::-1], Q, Q / 99, Q / 98, Q, Q)),
    PLANE,
    dt=DT,
)
add("picasso-hdf5", b"\x89HDF\r\n\x1a\n" + bytes(600), cause="HDF5", filename="locs.hdf5")
STORM = '"id","frame","x [nm]","y [nm]","sigma [nm]","intensity [photon]"'
tracks(
    "thunderstorm",
    text(STORM + ',"uncertainty [nm]","track"', by_frame(K + 1, FRAME, X, Y, Q, Q, Q, TRACK)),
    dt=DT,
)
add(
    "thunderstorm-one-molecule",
    text(
        STORM + ',"offset [photon]","bkgstd [photon]","uncertainty_xy [nm]"',
        rows([f"{k + 1}.0" for k in K], [f"{k + 1}.0" for k in K], X, Y, Q, Q, Q, Q, Q),
    ),
    PLANE,
    dt=DT,
)
SURE = [f"0.9{k % 7}" for k in K]
add(
    "deeplabcut",
    text(
        "scorer,net,net,net\nbodyparts,nose,nose,nose\ncoords,x,y,likelihood", rows(K, X, Y, SURE)
    ),
    PLANE,
    dt=DT,
)
add(
    "deeplabcut-several-animals",
    text(
        "scorer,net,net,net\nindividuals,a1,a1,a1\nbodyparts,nose,nose,nose\ncoords,x,y,likelihood",
        rows(K, X, Y, SURE),
    ),
    PLANE,
    dt=DT,
)
add("deeplabcut-h5", b"\x89HDF\r\n\x1a\n" + bytes(600), cause="HDF5", filename="net.h5")
add(
    "sleap",
    text(
        "track,frame_idx,instance.score,nose.x,nose.y,nose.score",
        rows(all_(""), K, SURE, X, Y, SURE),
    ),
    PLANE,
    dt=DT,
)
add("idtracker", text("X1\tY1\tProbId1", rows(X, Y, SURE, sep="\t")), PLANE, dt=DT)
add("idtracker-ai", text("seconds,x1,y1", rows(T, X, Y)), PLANE)
add("tracker-physlets", text("mass A\t\t", "t\tx\ty", rows(T, X, Y, sep="\t")), PLANE)
add(
    "ethovision",
    text(
        '"Number of header lines:";"8"\n"Experiment";"OU"\n"Trial name";"Trial     1"\n'
        '"Arena name";"Arena 1"\n"Subject name";"Subject 1"\n',
        '"Trial time";"Recording time";"X center";"Y center";"Area";"Areachange";"Elongation"',
        '"s";"s";"cm";"cm";"cm²";"cm²";""',
        rows(T, T, X, Y, Q, Q[::-1], Q / 9, sep=";"),
    ),
    PLANE,
    encoding="utf-16",
    unit="s",
)
tracks(
    "imaris",
    text(
        " \nPosition \n==================== \n"
        "Position X,Position Y,Position Z,Unit,Category,Collection,Time,TrackID,ID,",
        rows(
            X, Y, all_("0"), all_("um"), all_("Spot"), all_("Position"), FRAME + 1,
            TRACK + 1000000000, K, end=",",
        ),
    ),
    times=FRAME,
)  # fmt: skip
tracks(
    "cellprofiler",
    text(
        "ImageNumber,ObjectNumber,Location_Center_X,Location_Center_Y,TrackObjects_Label_50",
        by_frame(FRAME + 1, TRACK + 1, X, Y, TRACK + 1),
    ),
    dt=DT,
)
MOVEBANK = [
    f"{9000 + k},true,{d},{x},{y},12.0,gps,Buteo,{300 + i},B{i}"
    for k, d, x, y, i in zip(K, of("%Y-%m-%d %H:%M:%S.000", HOURS[FRAME]), X, Y, TRACK, strict=True)
]
tracks(
    "movebank",
    text(
        "event-id,visible,timestamp,location-long,location-lat,heading,sensor-type,"
        "individual-taxon-canonical-name,tag-local-identifier,individual-local-identifier",
        MOVEBANK,
    ),
    times=3600.0 * FRAME,
    unit="s",
)
tracks(
    "frames-with-tab-and-blank-header",
    text("track frame x y", rows(TRACK, FRAME, X, Y, sep=" ")),
    dt=DT,
)

# --- molecular dynamics -------------------------------------------------------------------------

add("plumed", text("#! FIELDS time d1 phi", rows(T, X, Y, sep=" ")), PLANE)
add(
    "plumed-settings",
    text(
        "#! FIELDS time d1 phi\n#! SET min_phi -pi\n#! SET max_phi pi",
        [f" {t:.6f} {x} {y}" for t, x, y in zip(T, X, Y, strict=True)],
    ),
    PLANE,
)
add(
    "plumed-restarted",
    text(
        "#! FIELDS time d1",
        rows(T[:120], X[:120], sep=" "),
        "#! FIELDS time d1",
        rows(T[120:], X[120:], sep=" "),
    ),
)
XVG = (
    '# gmx angle\n@    title "Angle"\n@    xaxis  label "Time (ps)"\n@    yaxis  label "Phi"\n'
    "@TYPE xy"
)
add("gromacs-xvg", text(XVG, rows(T, X, sep="    ")), unit="ps")
add(
    "gromacs-xvg-legends",
    text(XVG + '\n@ s0 legend "x"\n@ s1 legend "y"', rows(T, X, Y, sep="    ")),
    PLANE,
    unit="ps",
)
tracks(
    "gromacs-xvg-sets",
    text(
        XVG,
        *([*rows(T[:M], X[k * M : (k + 1) * M], sep=" "), "&"] for k in range(N_TRACKS)),
    ),
    states=X,
    codes="time-restarts",
    unit="ps",
)
add(
    "lammps-thermo",
    text(
        "LAMMPS (29 Aug 2024)\nunits           lj\ntimestep        0.005\nrun  23900\n"
        "Per MPI rank memory allocation (min/avg/max) = 3.0 | 3.0 | 3.0 Mbytes\n"
        "   Step          Temp          E_pair",
        [f"  {100 * k:8d}   {x:12.4f}   {y:12.4f}" for k, x, y in zip(K, X, Y, strict=True)],
        "Loop time of 0.5 on 4 procs for 23900 steps with 4000 atoms\n\n"
        "Performance: 1000.0 tau/day, 40.0 timesteps/s\n100.0% CPU use with 4 MPI tasks",
    ),
    PLANE,
    dt=DT,
)
add(
    "lammps-thermo-table",
    text("Step Temp E_pair", [f"{100 * k:8d} {x} {y}" for k, x, y in zip(K, X, Y, strict=True)]),
    PLANE,
    dt=DT,
)
add(
    "lammps-ave-time",
    text("# Time-averaged data for fix 1\n# TimeStep v_x v_y", rows(100 * K, X, Y, sep=" ")),
    PLANE,
    dt=DT,
)
tracks(
    "lammps-dump",
    text(
        *(
            [
                "ITEM: TIMESTEP", str(100 * f), "ITEM: NUMBER OF ATOMS", str(N_TRACKS),
                "ITEM: BOX BOUNDS pp pp pp", "-9 9", "-9 9", "-9 9", "ITEM: ATOMS id type x y",
                *(f"{i + 1} 1 {X[i * M + f]} {Y[i * M + f]} " for i in range(N_TRACKS)),
            ]
            for f in range(M)
        )
    ),
    dt=DT,
)  # fmt: skip
tracks(
    "xyz",
    text(
        *(
            [
                str(N_TRACKS),
                f"frame {f}",
                *(f"Ar {X[i * M + f]} {Y[i * M + f]} 0.0" for i in range(N_TRACKS)),
            ]
            for f in range(M)
        )
    ),
    dt=DT,
    filename="atoms.xyz",
    cause="XYZ",
)
add("namd-colvars", text("# step         d1       ", rows(100 * K, X, sep="  ")), dt=DT)
add("cpptraj", text("#Frame       dist", rows(K + 1, X, sep="   ")), dt=DT)
add(
    "openmm",
    text('#"Step","Time (ps)","d1 (nm)"', rows(1000 * K, T, X)),
    unit="ps",
)

# --- instruments --------------------------------------------------------------------------------

LVM = (
    "LabVIEW Measurement\t\nWriter_Version\t2\nReader_Version\t2\nSeparator\tTab\n"
    "Decimal_Separator\t.\nMulti_Headings\tYes\nX_Columns\tOne\nTime_Pref\tRelative\n"
    "Operator\tlab\nDate\t2020/01/30\nTime\t10:00:00.123\n***End_of_Header***\t\n\t"
)


def segment(n: int, delta: float = DT, names: str = "X_Value\tVoltage\tComment") -> str:
    return (
        f"Channels\t1\t\t\nSamples\t{n}\t\t\nDate\t2020/01/30\t\t\nTime\t10:00:00.123\t\t\n"
        f"Y_Unit_Label\tVolts\t\t\nX_Dimension\tTime\t\t\nX0\t0.0000000000000000E+0\t\t\n"
        f"Delta_X\t{delta:.6f}\t\t\n***End_of_Header***\t\t\t\n{names}"
    )


add("labview-lvm", text(LVM, segment(N), rows([f"{t:.6f}" for t in T], X, sep="\t")))
tracks(
    "labview-lvm-segments",
    text(
        LVM,
        *(
            [segment(M), *rows([f"{t:.6f}" for t in T[:M]], X[k * M : (k + 1) * M], sep="\t"), ""]
            for k in range(N_TRACKS)
        ),
    ),
    states=X,
    codes="time-restarts",
)
add(
    "labview-lvm-segments-continued",
    text(
        LVM,
        *(
            [
                segment(M),
                *rows(
                    [f"{t:.6f}" for t in T[k * M : (k + 1) * M]], X[k * M : (k + 1) * M], sep="\t"
                ),
                "",
            ]
            for k in range(N_TRACKS)
        ),
    ),
)
add(
    "labview-lvm-without-x",
    text(
        LVM.replace("X_Columns\tOne", "X_Columns\tNo"),
        segment(N),
        [f"\t{x}" for x in X],
    ),
)
add(
    "labview-lvm-decimal-commas",
    text(
        LVM.replace("Decimal_Separator\t.", "Decimal_Separator\t,"),
        segment(N).replace("0.050000", "0,050000").replace("0.000", "0,000"),
        rows(comma(f"{t:.6f}" for t in T), comma(X), sep="\t"),
    ),
)
add(
    "hobo",
    text(
        '"Plot Title: logger1"',
        '"#","Date Time, GMT+01:00","Temp, °C (LGR S/N: 1, SEN S/N: 1)",'
        '"Coupler Attached (LGR S/N: 1)","End Of File (LGR S/N: 1)"',
        rows(
            K + 1,
            of("%m/%d/%y %I:%M:%S %p", HOURS),
            X,
            ["Logged", *[""] * (N - 1)],
            [*[""] * (N - 1), "Logged"],
        ),
    ),
    X,
    HOURLY,
    encoding="utf-8-sig",
    unit="s",
)
META = (
    "Record Length,2.400000e+02", "Sample Interval,5.000000e-02", "Trigger Point,1.2e+02",
    "", "", "", "Source,CH1", "Vertical Units,V", "Vertical Scale,1.0e-01",
    "Vertical Offset,0.0e+00", "Horizontal Units,s", "Horizontal Scale,2.5e-02",
    "Pt Fmt,Y", "Yzero,0.0e+00", "Probe Atten,1.0e+00", "Model Number,TDS2024B",
    "Serial Number,C051893", "Firmware Version,FV:v22.11",
)  # fmt: skip
add(
    "tektronix-tds",
    text(
        [
            f"{META[k] if k < len(META) and META[k] else ','},,{t:018.12f},{x:10.5f},"
            for k, (t, x) in enumerate(zip(T, X, strict=True))
        ]
    ),
)
add(
    "tektronix-mso",
    text(
        "Model,MSO44\nFirmware Version,1.20.4\n\nWaveform Type,ANALOG\nPoint Format,Y\n"
        "Horizontal Units,s\nHorizontal Scale,1\nHorizontal Delay,0\nSample Interval,0.05\n"
        "Record Length,240\nGating,0.0% to 100.0%\nProbe Attenuation,1\nVertical Units,V\n"
        "Vertical Offset,0\nVertical Scale,1\n,\n,\n,\nLabel,\nTIME,CH1",
        rows(T, X),
    ),
)
add("keysight", text("x-axis,1", "second,Volt", rows([f"{t - 1:+.6E}" for t in T], X)), unit="s")
add(
    "keysight-two-channels",
    text("x-axis,1,2", "second,Volt,Volt", rows([f"{t:.6E}" for t in T], X, Y)),
    PLANE,
    unit="s",
)
add(
    "rigol-start-increment",
    text(
        "X,CH1,Start,Increment,\nSequence,Volt,-1.200000e-03,5.000000e-02",
        [f"{k},{x:.4e},," for k, x in zip(K, X, strict=True)],
    ),
)
add(
    "rigol-time",
    text("Time(s),CH1V", [f"{t:.6e},{x}," for t, x in zip(T, X, strict=True)]),
    unit="s",
)
add(
    "lecroy",
    text(
        "LECROYWS434,11111,Waveform\nSegments,1,SegmentSize,240\nSegment,TrigTime,TimeSinceSegment1"
        "\n#1,08-Jan-2020 10:00:00,0                 \nTime,Ampl",
        rows([f"{t - 3:.8f}" for t in T], X),
    ),
)
add("picoscope", text("Time,Channel A\n(ms),(mV)\n", rows(T, X)), unit="ms")
add(
    "siglent",
    text(
        "Record Length,Analog:240\nSample Interval,5.000000E-02\nVertical Units,CH1:V\n"
        "Vertical Scale,CH1:1.00\nVertical Offset,CH1:0.0\nHorizontal Units,s\n"
        "Horizontal Scale,1\nModel Number,SDS1104X-E\nSerial Number,SDSMMEBQ\n"
        "Software Version,7.6.1.15\nSource,CH1\nSecond,Volt",
        rows([f"{t:.12f}" for t in T], X),
    ),
    unit="s",
)
add(
    "igor-itx",
    text(
        "IGOR\nWAVES/D\ttime, position\nBEGIN",
        [f"\t{t}\t{x}" for t, x in zip(T, X, strict=True)],
        'END\nX SetScale/P x 0,1,"", time; SetScale y 0,0,"s", time',
    ),
)
add(
    "igor-itx-scaled",
    text(
        "IGOR\nWAVES/D\tposition\nBEGIN",
        [f"\t{x}" for x in X],
        'END\nX SetScale/P x 0,0.05,"s", position',
    ),
    filename="p.itx",
)
add("igor-ibw", b"\x05\x00\x00\x00" + bytes(600), cause="binary", filename="p.ibw")
add("origin", text("Time\tPosition\ns\tµm\n\tcell 1", rows(T, X, sep="\t")), unit="s")
add("matlab-writetable", text("t,x,y", rows(T, X, Y)), PLANE)
add("matlab-ascii", text([f"   {t:.8e}   {x:.8e}" for t, x in zip(T, X, strict=True)]))
add(
    "octave-text",
    text(
        "# Created by Octave 8.4.0, Thu Jan 30 10:00:00 2020 UTC <lab@host>\n# name: A\n"
        "# type: matrix\n# rows: 240\n# columns: 2",
        [f" {t} {x}" for t, x in zip(T, X, strict=True)],
        "\n",
    ),
)
add(
    "axon-atf",
    text(
        'ATF\t1.0\n3\t2\n"AcquisitionMode=Gap Free"\n"Comment="\n"SyncTimeUnits=5"\n'
        '"Time (s)"\t"Trace #1 (pA)"',
        rows(T, X, sep="\t"),
    ),
    unit="s",
)
add(
    "biologic-mpt",
    text(
        "EC-Lab ASCII FILE\nNb header lines : 6                          \n\n"
        "Open Circuit Voltage\n\nmode\ttime/s\tEwe/V",
        rows(all_(3), [f"{t:.15E}" for t in T], X, sep="\t", end="\t"),
    ),
    unit="s",
)
add(
    "gamry-dta",
    text(
        "EXPLAIN\nTAG\tCORPOT\nTITLE\tLABEL\tOpen Circuit Potential\tTest &Identifier\n"
        "DATE\tLABEL\t1/30/2020\tDate\nCURVE\tTABLE\t240\n\tPt\tT\tVf\n\t#\ts\tV vs. Ref.",
        [f"\t{k}\t{t}\t{x}" for k, t, x in zip(K, T, X, strict=True)],
    ),
)
add(
    "zurich",
    text("chunk;timestamp;value", rows(all_(0), 1000 + 1050 * K, X, sep=";")),
    X,
    1050.0 * K,
)
add(
    "campbell-toa5",
    text(
        '"TOA5","CR1000","CR1000","1234","CR1000.Std.27","CPU:ou.CR1","123","Hourly"',
        '"TIMESTAMP","RECORD","AirT_Avg"\n"TS","RN","Deg C"\n"","","Avg"',
        rows([f'"{d}"' for d in of("%Y-%m-%d %H:%M:%S", HOURS)], K, X),
    ),
    X,
    HOURLY,
    unit="s",
)
add("vernier", text("Latest: Time (s)\tLatest: Position (m)", rows(T, X, sep="\t")), unit="s")
add(
    "phyphox",
    text('"Time (s)","Position (m)"', [f"{t:.9E},{x:.9E}" for t, x in zip(T, X, strict=True)]),
    unit="s",
)
add(
    "arduino-monitor",
    text(
        [
            f"{c[:12]} -> {x}"
            for c, x in zip(
                of("%H:%M:%S.%f", np.datetime64("2020-01-30T12:00:00.000") + 50 * K), X, strict=True
            )
        ]
    ),
)

# --- climate ------------------------------------------------------------------------------------

GRID = X.reshape(20, 12)
YEARS = np.arange(1995, 2015)
add(
    "psl",
    text(
        " 1995 2014",
        [
            f" {year}" + "".join(f"{v:9.4f}" for v in row)
            for year, row in zip(YEARS, GRID, strict=True)
        ],
        "  -99.99\n  Nino Anom 3.4 Index  using ersstv5 from CPC\n  https://psl.noaa.gov/data",
    ),
    X,
    MONTHLY,
    unit="day",
)
LAST = GRID.copy()
LAST[-1, 9:] = -99.99
add(
    "psl-unfinished-year",
    text(
        "1995      2014",
        [
            f"{year}" + "".join(f"{v:9.4f}" for v in row)
            for year, row in zip(YEARS, LAST, strict=True)
        ],
        "-99.99\n AMO unsmoothed from the Kaplan SST V2\n Calculated at NOAA/ESRL/PSD1\n"
        " http://www.esrl.noaa.gov/psd/data/timeseries/AMO/",
    ),
    X[:-3],
    MONTHLY[:-3],
    unit="day",
)
add(
    "gistemp",
    text(
        "Land-Ocean: Global Means",
        "Year,Jan,Feb,Mar,Apr,May,Jun,Jul,Aug,Sep,Oct,Nov,Dec,J-D,D-N,DJF,MAM,JJA,SON",
        [
            ",".join([str(year), *map(str, row), "***", *["0.1"] * 5])
            for year, row in zip(YEARS, GRID, strict=True)
        ],
    ),
    X,
    MONTHLY,
    unit="day",
)
add(
    "year-month-table",
    text(
        "Year\t"
        + "\t".join(
            ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        ),
        rows(YEARS, *GRID.T, sep="\t"),
    ),
    X,
    MONTHLY,
    unit="day",
)
DECIMAL = np.round(1995 + (K + 0.5) / 12, 3)
Y4, MM = of("%Y", MONTHS), of("%m", MONTHS)
POSITIVE = np.round(60 + 10 * X, 1)
add(
    "silso-monthly",
    text(
        [
            f"{y};{m};{d:.3f};{p:6.1f};{s:5.1f};{o:5d};{f}"
            for y, m, d, p, s, o, f in zip(
                Y4, MM, DECIMAL, POSITIVE, 1 + K % 7 / 10, 20 + K % 9, K % 2, strict=True
            )
        ]
    ),
    POSITIVE,
    (DECIMAL - DECIMAL[0]),
    state_columns=("4",),
    time_column="3",
    codes="rounded-stamps",
    near=2e-3,
)
add("fred-old", text("DATE,UNRATE", rows(of("%Y-%m-%d", MONTHS), X)), X, MONTHLY, unit="day")
HOLES = np.isin(K, (50, 120))
add(
    "fred-missing",
    text("observation_date,DGS10", rows(of("%Y-%m-%d", DAYS), np.where(HOLES, ".", X.astype(str)))),
    X[~HOLES],
    DAILY[~HOLES],
    pieces=3,
    codes="missing-values",
)
NDBC = "#YY  MM DD hh mm WDIR WSPD  WTMP\n#yr  mo dy hr mn degT m/s  degC"
SPLIT = [of(f"%{c}", HOURS) for c in ("Y", "m", "d", "H", "M")]
add(
    "ndbc-newest-first",
    text(NDBC, rows(*SPLIT, all_("MM"), X, all_("MM"), sep=" ")[::-1]),
    X,
    HOURLY,
    unit="s",
)
add(
    "ndbc-some-missing",
    text(
        NDBC,
        rows(*SPLIT, all_("MM"), np.where(HOLES, "MM", X.astype(str)), all_("999.0"), sep="  "),
    ),
    X[~HOLES],
    HOURLY[~HOLES],
    pieces=3,
)
add(
    "ndbc-two-digit-years",
    text(
        "YY MM DD hh WD WSPD", rows(*[of(f"%{c}", HOURS) for c in "ymdH"], all_("999"), X, sep=" ")
    ),
    X,
    HOURLY,
)
add(
    "knmi",
    text(
        "# KNMI\n# STN,YYYYMMDD,   TG\n#",
        [f"  260,{d},{x:8.4f}" for d, x in zip(of("%Y%m%d", DAYS), X, strict=True)],
    ),
    X,
    DAILY,
    unit="day",
)
add(
    "dwd",
    text(
        "STATIONS_ID;MESS_DATUM;QN_9;TT_TU;RF_TU;eor",
        [
            f"        433;{d};    3;{x:8.4f};-999;eor"
            for d, x in zip(of("%Y%m%d%H", HOURS), X, strict=True)
        ],
    ),
    X,
    HOURLY,
    unit="s",
)
add(
    "berkeley-earth",
    text(
        "% This file contains a summary\n% Monthly anomaly\n%\n% Year, Month,  Anomaly,\n ",
        [f"  {y}    {int(m):2d}   {x:8.4f}" for y, m, x in zip(Y4, MM, X, strict=True)],
    ),
    X,
    MONTHLY,
    unit="day",
)
add(
    "hadcrut",
    text(
        "Time,Anomaly (deg C),Lower confidence limit (2.5%),Upper confidence limit (97.5%)",
        rows(of("%Y-%m", MONTHS), X, np.round(X - 0.1 - Q / 50, 4), np.round(X + 0.1 + Q / 50, 4)),
    ),
    X,
    MONTHLY,
    unit="day",
)
SEASON = ["NDJ", "DJF", "JFM", "FMA", "MAM", "AMJ", "MJJ", "JJA", "JAS", "ASO", "SON", "OND"]
add(
    "oni-seasons",
    text(
        " SEAS  YR  TOTAL  ANOM",
        [
            f"  {SEASON[(k + 1) % 12]} {y}  {26 + x:.2f} {x:8.4f}"
            for k, (y, x) in enumerate(zip(Y4, X, strict=True))
        ],
    ),
    X,
    MONTHLY,
    state_columns=("ANOM",),
)
add(
    "mauna-loa",
    text(
        "# CO2 expressed as a mole fraction in dry air\n#            decimal       monthly",
        [
            f"  {y} {int(m):3d} {d:11.3f} {p:9.2f} {-1:4d} {-9.99:6.2f}"
            for y, m, d, p in zip(Y4, MM, DECIMAL, POSITIVE, strict=True)
        ],
    ),
    POSITIVE,
    DECIMAL - DECIMAL[0],
    near=2e-3,
)
add(
    "usgs-rdb",
    text(
        "# ---- WARNING ----\n# Data provided for site 01234567\n#",
        "agency_cd\tsite_no\tdatetime\ttz_cd\t12345_00060\t12345_00060_cd",
        "5s\t15s\t20d\t6s\t14n\t10s",
        rows(
            all_("USGS"),
            all_("01234567"),
            of("%Y-%m-%d %H:%M", HOURS),
            all_("EST"),
            X,
            all_("A"),
            sep="\t",
        ),
    ),
    X,
    HOURLY,
    unit="s",
)
add(
    "pangaea",
    text(
        "/* DATA DESCRIPTION:\nCitation:\tAuthor, A (2020): Record 12.5 of core 7",
        "Event(s):\tcore 7\n*/\nAge [ka BP]\tδ18O [‰]",
        rows(T, X, sep="\t"),
    ),
    codes="age-axis",
)
add("eurostat", text("TIME_PERIOD,OBS_VALUE", rows(of("%Y-%m", MONTHS), X)), X, MONTHLY, unit="day")
add(
    "oecd-quarters",
    text("Period,Value", rows([f"{y}-Q{1 + k % 4}" for k, y in enumerate(of("%Y", QUARTERS))], X)),
    X,
    days_of(QUARTERS),
    unit="day",
)
add(
    "bls",
    text("Series ID,Year,Period,Value", rows(all_("LNS14000000"), Y4, [f"M{m}" for m in MM], X)),
    X,
    MONTHLY,
    unit="day",
)
add("ons", text("Title,Rate", rows(of("%Y %b", MONTHS), X)), X, MONTHLY, unit="day")
add("decimal-years", text("year,x", rows(DECIMAL, X)), X, K / 12, codes="rounded-stamps", near=2e-3)

# --- markets ------------------------------------------------------------------------------------

OPEN, HIGH, LOW = np.round(PRICE - 0.05, 2), np.round(PRICE + 0.2, 2), np.round(PRICE - 0.2, 2)
VOLUME = 1_000_000 + 1000 * (K % 17)
add(
    "stooq",
    text("Date,Open,High,Low,Close,Volume", rows(DAYS, OPEN, HIGH, LOW, PRICE, VOLUME)),
    PRICE,
    DAILY,
)
add(
    "stooq-ascii",
    text(
        "<TICKER>,<PER>,<DATE>,<TIME>,<OPEN>,<HIGH>,<LOW>,<CLOSE>,<VOL>,<OPENINT>",
        rows(
            all_("OU.US"),
            all_("D"),
            of("%Y%m%d", DAYS),
            all_("000000"),
            OPEN,
            HIGH,
            LOW,
            PRICE,
            VOLUME,
            all_(0),
        ),
    ),
    PRICE,
    DAILY,
)
add(
    "yahoo",
    text(
        "Date,Open,High,Low,Close,Adj Close,Volume",
        rows(DAYS, OPEN, HIGH, LOW, PRICE, PRICE, VOLUME),
    ),
    PRICE,
    DAILY,
)
THOUSANDS = np.round(1500 + 100 * X, 2)
add(
    "investing.com",
    text(
        '"Date","Price","Open","High","Low","Vol.","Change %"',
        rows(*(
            [f'"{cell}"' for cell in cells]
            for cells in (
                of("%m/%d/%Y", DAYS), [f"{v:,.2f}" for v in THOUSANDS],
                *([f"{v + e:,.2f}" for v in THOUSANDS] for e in (-1, 2, -2)),
                [f"{1 + k % 7 / 10:.2f}M" for k in K], [f"{k % 5 / 10:.2f}%" for k in K],
            )
        ))[::-1],
    ),
    THOUSANDS,
    DAILY,
    encoding="utf-8-sig",
)  # fmt: skip
add(
    "investing.com-german",
    text(
        '"Datum","Zuletzt","Eröffn.","Hoch","Tief","Vol.","+/- %"',
        rows(*(
            [f'"{cell}"' for cell in cells]
            for cells in (
                of("%d.%m.%Y", DAYS),
                *(
                    [f"{v + e:,.2f}".translate(str.maketrans(",.", ".,")) for v in THOUSANDS]
                    for e in (0, -1, 2, -2)
                ),
                [f"{1 + k % 7 / 10:.2f}M".replace(".", ",") for k in K],
                [f"{k % 5 / 10:.2f}%".replace(".", ",") for k in K],
            )
        ))[::-1],
    ),
    THOUSANDS,
    DAILY,
)  # fmt: skip
add(
    "cryptodatadownload",
    text(
        "https://www.CryptoDataDownload.com",
        "unix,date,symbol,open,high,low,close,Volume BTC,Volume USD",
        rows(
            HOURS.astype("datetime64[ms]").astype(np.int64), of("%Y-%m-%d %H:%M:%S", HOURS),
            all_("BTC/USD"), OPEN, HIGH, LOW, PRICE, Q, Q,
        )[::-1],
    ),
    PRICE,
    HOURLY,
)  # fmt: skip
add(
    "dollars",
    text("Date,Price", rows(DAYS, [f'"${v:,.2f}"' for v in THOUSANDS])),
    THOUSANDS,
    DAILY,
)
add("percent", text("Date,Share", rows(DAYS, [f"{v}%" for v in X])), X, DAILY)

# --- statistics, spreadsheets, documents --------------------------------------------------------

add("r-write.table", text('"t" "x"', rows([f'"{k + 1}"' for k in K], T, X, sep=" ")))
add("r-write.table-unquoted", text("t x", rows(K + 1, T, X, sep=" ")))
add("r-write.csv", text('"","t","x"', rows([f'"{k + 1}"' for k in K], T, X)))
add(
    "r-write.csv2", text('"";"t";"x"', rows([f'"{k + 1}"' for k in K], comma(T), comma(X), sep=";"))
)
add("r-time-series", text('"x"', rows([f'"{k + 1}"' for k in K], X, sep=" ")), dt=DT)
add("pandas-index", text(",t,x", rows(K, T, X)))
add("pandas-unnamed", text("Unnamed: 0,t,x", rows(K, T, X)))
add("pandas-dates", text(",x", rows(of("%Y-%m-%d %H:%M:%S", HOURS), X)), X, HOURLY, unit="s")
add("pandas-two-level-columns", text("time,position,position", ",x,y", rows(T, X, Y)), PLANE)
add(
    "pandas-two-level-columns-named-index",
    text(",position,position", ",x,y", "time,,", rows(T, X, Y)),
    PLANE,
)
tracks("pandas-two-level-index", text("track,t,x,y", rows(TRACK, TRACK_TIMES.round(2), X, Y)))
add(
    "excel-sep",
    text("sep=;", "t;x", rows(comma(T), comma(X), sep=";"), newline="\r\n"),
    encoding="utf-8-sig",
)
add(
    "excel-bom-german",
    text("Zeit [s];Position [µm]", rows(comma(T), comma(X), sep=";"), newline="\r\n"),
    encoding="utf-8-sig",
    unit="s",
)
add("excel-unicode-text", text("t\tx", rows(T, X, sep="\t"), newline="\r\n"), encoding="utf-16")
add("excel-empty-columns-and-rows", text("t,x,,", rows(T, X, all_(""), all_("")), [",,,"] * 8))
add("excel-empty-semicolons", text("t;x;", rows(comma(T), comma(X), all_(""), sep=";"), [";;"] * 8))
add(
    "excel-german-dates",
    text("Datum;Wert", rows(of("%d.%m.%Y %H:%M", HOURS), comma(X), sep=";")),
    X,
    HOURLY,
    unit="s",
)
add(
    "excel-us-dates",
    text(
        "Date,Value",
        rows(
            [
                f"{d.month}/{d.day}/{d.year} {d.hour}:{d.minute:02d}"
                for d in HOURS.astype("datetime64[s]").astype(object)
            ],
            X,
        ),
    ),
    X,
    HOURLY,
    unit="s",
)
add(
    "excel-two-digit-years",
    text("Date,Value", rows(of("%m/%d/%y %I:%M %p", HOURS), X)),
    X,
    HOURLY,
    unit="s",
)
SERIAL = np.round(43829 + K / 24, 6)
add("excel-serial-dates", text("Date,Value", rows(SERIAL, X)), X, K / 24, near=1e-6)
add("excel-title-above", text("Measurement of 30 January,", "", "t,x", rows(T, X)))
add("excel-sum-below", text("t,x", rows(T, X), ["", f"Mean,{X.mean():.4f}"]))
add("stata-date", text("date,x", rows(of("%Ym%m", MONTHS), X)), X, MONTHLY, unit="day")
add("excel-month-short", text("Month,x", rows(of("%b-%y", MONTHS), X)), X, MONTHLY, unit="day")

add(
    "json-records",
    json.dumps([{"t": t, "x": x} for t, x in zip(T.tolist(), X.tolist(), strict=True)]),
)
add("json-columns", json.dumps({"t": T.tolist(), "x": X.tolist()}))
add(
    "json-split",
    json.dumps(
        {"columns": ["t", "x"], "index": K.tolist(), "data": np.column_stack([T, X]).tolist()}
    ),
)
add(
    "json-pandas-columns",
    json.dumps({n: {str(k): float(v) for k, v in enumerate(c)} for n, c in (("t", T), ("x", X))}),
)
add(
    "json-pandas-index",
    json.dumps(
        {str(k): {"t": float(t), "x": float(x)} for k, (t, x) in enumerate(zip(T, X, strict=True))}
    ),
)
add(
    "json-pandas-table",
    json.dumps({
        "schema": {
            "fields": [{"name": "index", "type": "integer"}],
            "primaryKey": ["index"],
            "pandas_version": "1.4.0",
        },
        "data": [
            {"index": k, "t": float(t), "x": float(x)}
            for k, (t, x) in enumerate(zip(T, X, strict=True))
        ],
    }),
)  # fmt: skip
add(
    "json-wrapped-records",
    json.dumps(
        {
            "status": "ok",
            "data": [{"t": t, "x": x} for t, x in zip(T.tolist(), X.tolist(), strict=True)],
        }
    ),
)
add(
    "json-lines",
    text([json.dumps({"t": float(t), "x": float(x)}) for t, x in zip(T, X, strict=True)]),
    filename="r.ndjson",
)
add(
    "json-lines-as-json",
    text([json.dumps({"t": float(t), "x": float(x)}) for t, x in zip(T, X, strict=True)]),
    filename="r.json",
)
add(
    "json-dates",
    json.dumps(
        [
            {"time": d, "x": x}
            for d, x in zip(of("%Y-%m-%dT%H:%M:%SZ", HOURS), X.tolist(), strict=True)
        ]
    ),
    X,
    HOURLY,
    unit="s",
)
add("json-pairs", json.dumps(np.column_stack([T, X]).tolist()))
add(
    "json-numbers-as-text",
    json.dumps([{"t": str(t), "x": str(x)} for t, x in zip(T.tolist(), X.tolist(), strict=True)]),
)
tracks(
    "json-trajectories",
    json.dumps({"dt": DT, "trajectories": PLANE.reshape(N_TRACKS, M, 2).tolist()}),
)
add(
    "influxdb",
    text(
        "#group,false,false,false,false,true",
        "#datatype,string,long,dateTime:RFC3339,double,string\n#default,_result,,,,",
        ",result,table,_time,_value,_field",
        rows(all_(""), all_(""), all_(0), of("%Y-%m-%dT%H:%M:%SZ", HOURS), X, all_("x")),
    ),
    X,
    HOURLY,
    unit="s",
)
add("grafana", text('"Time","x"', rows(of("%Y-%m-%d %H:%M:%S", HOURS), X)), X, HOURLY, unit="s")
add("markdown", text("| t | x |\n|---|---|", [f"| {t} | {x} |" for t, x in zip(T, X, strict=True)]))
add(
    "mysql",
    text(
        "+------+---------+\n| t    | x       |\n+------+---------+",
        [f"| {t:4.2f} | {x:7.4f} |" for t, x in zip(T, X, strict=True)],
        "+------+---------+",
    ),
)
add(
    "html",
    "<table><tr><th>t</th></tr>" + "".join(f"<tr><td>{x}</td></tr>" for x in X) + "</table>",
    cause="HTML",
    filename="t.xls",
)


def npz(**arrays: Any) -> bytes:
    """Save arrays as NPZ."""
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def npy(array: Any) -> bytes:
    """Save an array as NPY."""
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def arrow(write: Callable[[pa.Table, Any], None], **columns: Any) -> bytes:
    """Write columns by a function of pyarrow."""
    out = io.BytesIO()
    write(pa.table(columns), out)
    return out.getvalue()


PIECES = PLANE.reshape(N_TRACKS, M, 2)
add("npy-vector", npy(X), dt=DT)
add("npy-plane", npy(PLANE), PLANE, dt=DT)
add("npy-float32", npy(X.astype(np.float32)), X.astype(np.float32), dt=DT)
add(
    "npy-record",
    npy(np.array(list(zip(T, X, strict=True)), dtype=[("t", float), ("x", float)])),
    cause="structured records",
)
tracks("npy-tracks", npy(PIECES), dt=DT)
add("npz-columns", npz(t=T, x=X))
add("npz-dt", npz(dt=DT, x=X))
tracks("npz-numbered", npz(**{f"arr_{k}": piece for k, piece in enumerate(PIECES)}), dt=DT)
tracks("npz-tracks", npz(t=T[:M], x=PIECES))
add("npz-fs", npz(fs=20.0, x=X))
add("npz-dates", npz(time=HOURS, x=X), cause="calendar stamps")
add("parquet", arrow(parquet.write_table, t=T, x=X))
add("parquet-index", arrow(parquet.write_table, t=T, x=X, __index_level_0__=K))
add(
    "parquet-dates", arrow(parquet.write_table, time=HOURS.astype("datetime64[ns]"), x=X), X, HOURLY
)
tracks(
    "parquet-tracks",
    arrow(
        parquet.write_table,
        frame=FRAME[BY_FRAME],
        y=Y[BY_FRAME],
        x=X[BY_FRAME],
        particle=TRACK[BY_FRAME],
    ),
    dt=DT,
)
add("feather", arrow(lambda table, out: feather.write_feather(table, out), t=T, x=X))


def mat(**arrays: Any) -> bytes:
    """Save arrays as MAT."""
    out = io.BytesIO()
    scipy.io.savemat(cast("Any", out), arrays)
    return out.getvalue()


add("mat", mat(t=T, x=X))
add("mat-rows", mat(t=T[None], x=X[None]))
add("mat-structure", mat(data={"time": T, "position": X}))
add("mat-fs", mat(fs=20.0, x=X))
tracks("mat-cells", mat(tracks=np.array([*PIECES, None], dtype=object)[:-1]), dt=DT)

# --- calendars ----------------------------------------------------------------------------------

parts = {c: of(f"%{c}", HOURS) for c in "YmdHMjy"}
add(
    "calendar-parts",
    text("year,month,day,hour,x", rows(parts["Y"], parts["m"], parts["d"], parts["H"], X)),
    X,
    HOURLY,
    unit="s",
)
add(
    "calendar-day-of-year",
    text("year,doy,hour,x", rows(parts["Y"], parts["j"], parts["H"], X)),
    X,
    HOURLY,
    unit="s",
)
add(
    "date-and-time-apart",
    text("Date,Time,x", rows(of("%Y-%m-%d", HOURS), of("%H:%M:%S", HOURS), X)),
    X,
    HOURLY,
    unit="s",
)
add(
    "date-and-hour",
    text("date,hour,x", rows(of("%Y-%m-%d", HOURS), parts["H"], X)),
    X,
    HOURLY,
    unit="s",
)
add("nameless-date-and-hour", text(rows(of("%Y-%m-%d", HOURS), parts["H"], X)), X, HOURLY, unit="s")
add(
    "nameless-year-month-day-hour",
    text(rows(parts["Y"], parts["m"], parts["d"], parts["H"], X, sep=" ")),
    X,
    HOURLY,
    unit="s",
)
add("digits-14", text("when,x", rows(of("%Y%m%d%H%M%S", HOURS), X)), X, HOURLY, unit="s")
add("digits-12", text("stamp,x", rows(of("%Y%m%d%H%M", HOURS), X)), X, HOURLY, unit="s")
add("digits-8", text("date,x", rows(of("%Y%m%d", DAYS), X)), X, DAILY, unit="day")
add("digits-8-nameless", text(rows(of("%Y%m%d", DAYS), X, sep=" ")), X, DAILY, unit="day")
add("digits-6", text("date,x", rows(of("%Y%m", MONTHS), X)), X, MONTHLY, unit="day")
add("digits-6-month", text("yyyymm,x", rows(of("%Y%m", MONTHS), X)), X, MONTHLY, unit="day")
add("month-names", text("Year,Month,x", rows(Y4, of("%B", MONTHS), X)), X, MONTHLY, unit="day")
add(
    "quarters",
    text("Quarter,x", rows([f"Q{1 + k % 4} {y}" for k, y in enumerate(of("%Y", QUARTERS))], X)),
    X,
    days_of(QUARTERS),
    unit="day",
)
add(
    "minutes-and-seconds",
    text("time (mm:ss),x", rows([f"{k // 60:02d}:{k % 60:02d}" for k in K], X)),
    X,
    K,
)
add(
    "iso-offset",
    text("time,x", rows([d + "+02:00" for d in of("%Y-%m-%dT%H:%M:%S", HOURS)], X)),
    X,
    HOURLY,
    unit="s",
)
add(
    "rfc-2822",
    text("time,x", rows([f'"{d} +0000"' for d in of("%a, %d %b %Y %H:%M:%S", HOURS)], X)),
    X,
    HOURLY,
    unit="s",
)
add(
    "unix-seconds",
    text("timestamp,x", rows(HOURS.astype("datetime64[s]").astype(int), X)),
    X,
    HOURLY,
    unit="s",
)
add(
    "unix-milliseconds",
    text("timestamp,x", rows(HOURS.astype("datetime64[ms]").astype(int), X)),
    X,
    1000 * HOURLY,
    unit="ms",
)
MATLAB_DAYS = np.round(737789 + K / 24, 8)
add("matlab-datenum", text("datenum,x", rows(MATLAB_DAYS, X)), X, K / 24)

# --- meanings -----------------------------------------------------------------------------------

add("rate-in-a-comment", text("# fps: 20", "x,y", rows(X, Y)), PLANE, unit="s")
add(
    "comment-that-contradicts-the-time", text("# dt = 0.1", "t,x", rows(T, X)), codes="dt-disagrees"
)
add("comment-that-agrees-with-the-time", text("# dt = 0.05", "t,x", rows(T, X)))
add("equal-rows-twice", text("t,x", rows(T, X)[:50], rows(T, X)[49:]), codes="duplicate-times")
OTHER = rows(T, X)
add(
    "another-value-at-one-stamp",
    text("t,x", OTHER[:50], f"{T[49]},9.9", OTHER[50:]),
    codes="duplicate-times",
)
STUCK = X.copy()
STUCK[100:140] = STUCK[100]
MOVING = ~np.isin(K, np.arange(101, 140))
add(
    "stuck-sensor",
    text("t,x", rows(T, STUCK)),
    X[MOVING],
    T[MOVING],
    codes="stuck-values",
    pieces=2,
)
TREND = np.round(2 * K + X, 4)
add(
    "sentinel-beside-a-trend",
    text("t,x", rows(T, np.where(HOLES, "-999", TREND.astype(str)))),
    TREND[~HOLES],
    T[~HOLES],
    codes="missing-code",
    pieces=3,
)
GLITCH = X.copy()
GLITCH[77] = 85.0
add("glitch", text("t,x", rows(T, GLITCH)), GLITCH, codes="glitch")
add("constant-column", text("t,x,temperature", rows(T, X, all_("21.5"))), codes="constant-column")
add("empty-column", text("t,x,remark", rows(T, X, all_(""))))
add(
    "sparse-column",
    text("t,x,ph", rows(T, X, [7.1 + k / 99 if k % 40 == 0 else "" for k in K])),
    codes="ignored-column",
)
add(
    "nearly-equal-column",
    text("t,x,copy", rows(T, X, np.round(X + 0.002 * np.cos(37.0 * K), 4))),
    codes="ignored-column",
)
WIDE = X.reshape(N_TRACKS, M)
tracks(
    "column-per-replicate",
    text("t," + ",".join(f"cell {k + 1}" for k in range(6)), rows(T[:M], *WIDE)),
    states=X,
    times=np.tile(T[:M], 6),
    codes="orientation-assumed",
)
tracks(
    "columns-are-trajectories",
    text("t," + "abcdef"[0] + ",b,c,d,e,f", rows(T[:M], *WIDE)),
    states=X,
    times=np.tile(T[:M], 6),
    axes="tn",
)
tracks("rows-are-trajectories", text(rows(*WIDE.T)), states=X, dt=DT, orientation="rows")
add("time-last", text("x,y,t", rows(X, Y, T)), PLANE)
add("time-last-nameless", text(rows(X, Y, T, sep=" ")), PLANE)
SEEN = np.cumsum(1 + (K * 7919 % 10 == 0))
add(
    "frames-with-holes",
    text("frame,x", rows(SEEN, X)),
    X,
    DT * (SEEN - SEEN[0]),
    dt=DT,
    pieces=int(np.sum(np.diff(SEEN) > 1)) + 1,
)
add("y-before-x", text("t,y,x", rows(T, Y, X)), PLANE)
tracks(
    "two-columns-of-identity",
    text("movie,particle,frame,x,y", rows(TRACK // 3, TRACK % 3, FRAME, X, Y)),
    dt=DT,
)
add("empty-identity", text("track,t,x", rows(all_(""), T, X)))
add(
    "empty-identity-asked-for",
    text("track,t,x", rows(all_(""), T, X)),
    id_column="track",
    cause="empty in every row",
)
COUNTS = np.round(100 + 20 * X).astype(int)
for word in ("N", "n", "i", "id"):
    add(f"state-called-{word}", text(f"t,{word}", rows(T, COUNTS)), COUNTS)
CELL = 1 + K // 80
add(
    "no-identity",
    text("cell,t,x", rows(CELL, T, X)),
    np.column_stack([CELL, X]),
    id_column="none",
    state_columns=("cell", "x"),
)
add(
    "no-time", text("t,x", rows(T, X)), np.column_stack([T, X]), 0.5 * K, time_column="none", dt=0.5
)
add(
    "numbers-count-columns",
    text("t,remark,y,x", rows(T, all_("ok"), Y, X)),
    X,
    state_columns=("4",),
)
add(
    "numbers-count-columns-nameless",
    text(rows(T, Y, X, sep="\t")),
    X,
    state_columns=("3",),
    time_column="1",
)
add("no-clock", text("x", map(str, X)), X, None, codes="no-time-axis")
