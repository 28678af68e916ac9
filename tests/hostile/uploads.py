"""Over 400 hostile uploads: bombs, lies, pickles, truncated and damaged files of every format."""

import bz2
import gzip
import io
import json
import pickle
import struct
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.lib import format as npy
from scipy.io import savemat

CSV = b"t,x\n" + b"".join(b"%d,%.3f\n" % (k, (k * 7919 % 1000) / 1000) for k in range(60))


@dataclass(frozen=True, slots=True)
class Upload:
    """Upload with its declared media type and layout.

    A `harmless` upload may also be read. Bombs are made only when they are sent.
    """

    name: str
    content: bytes | Callable[[], bytes]
    media_type: str
    query: dict[str, str] = field(default_factory=dict)
    harmless: bool = False

    @property
    def body(self) -> bytes:
        return self.content() if callable(self.content) else self.content


class Deed:
    """Object that leaves a trace where it is unpickled."""

    def __reduce__(self) -> tuple[object, tuple[str, ...]]:
        return exec, ("open('/tmp/itoscope-was-here', 'w')",)


def hostile_uploads() -> Iterator[Upload]:
    """Yield all hostile uploads."""
    for family in (
        _texts,
        _jsons,
        _npys,
        _npzs,
        _zips,
        _mats,
        _arrows,
        _torn,
        _mislabelled,
        _layouts,
        _compressed,
    ):
        yield from family()


def _texts() -> Iterator[Upload]:
    cells = {
        "1e999": b"1e999", "nan": b"nan", "inf": b"-inf", "hex": b"0x1F", "long": b"9" * 5000,
        "formula": b"=cmd|'/c calc'!A1", "nul": b"\0", "quote": b'"', "bom": b"\xef\xbb\xbf",
        "utf16": "1".encode("utf-16"), "latin": b"\xff", "script": b"<script>",
        "underscore": b"1_000", "arabic": "١٢".encode(), "denormal": b"5e-324",
        "minus": "−1".encode(),
        "exp": b"1e", "sign": b"+-1",
    }  # fmt: skip
    for name, cell in cells.items():
        yield Upload(
            f"csv cell {name}", b"t,x\n0,1\n1,2\n2," + cell + b"\n3,4\n", "text/csv", harmless=True
        )
        yield Upload(
            f"csv header {name}", b"t," + cell + b"\n0,1\n1,2\n2,0\n", "text/csv", harmless=True
        )
        yield Upload(f"csv of nothing but {name}", (cell + b"\n") * 50, "text/csv", harmless=True)
    for columns in (1_000, 100_000, 1_000_000):
        yield Upload(f"{columns} columns", b",".join([b"1"] * columns) + b"\n", "text/csv")
        yield Upload(
            f"header of {columns} columns",
            b",".join(b"c%d" % k for k in range(columns)) + b"\n1,2\n",
            "text/csv",
        )
    yield Upload("one endless line", b"7" * 3_000_000, "text/csv")
    yield Upload("one endless quoted cell", b'"' + b"a" * 3_000_000, "text/csv")
    yield Upload("many lines of nothing", b"\n" * 2_000_000, "text/csv")
    yield Upload("only commas", b"," * 2_000_000, "text/csv")
    yield Upload("only quotes", b'"' * 1_000_001, "text/csv")
    yield Upload("only NUL", b"\0" * 1_000_000, "text/csv")
    yield Upload("random bytes", np.random.default_rng(0).bytes(300_000), "text/csv")
    yield Upload(
        "ragged rows",
        b"".join(b",".join([b"1"] * (k % 40 + 1)) + b"\n" for k in range(500)),
        "text/csv",
        harmless=True,
    )
    for separator in (b";", b"\t", b"|", b" ", b"\x1f", b"::"):
        yield Upload(
            f"separator {separator!r}", CSV.replace(b",", separator), "text/plain", harmless=True
        )
    for end in (b"\r", b"\r\r\n", b"\x0b", b"\x0c", "\u2028".encode(), b"\x1e"):
        yield Upload(f"line end {end!r}", CSV.replace(b"\n", end), "text/csv", harmless=True)
    times = {
        "backwards": range(60, 0, -1), "still": [1] * 60, "huge": [10**300 * k for k in range(8)],
        "tiny": [k * 1e-320 for k in range(60)], "one step": [0, *[10.0**k for k in range(59)]],
        "alternating": [k % 2 for k in range(60)],
    }  # fmt: skip
    for name, stamps in times.items():
        rows = "".join(f"{t},{k % 5}\n" for k, t in enumerate(stamps))
        yield Upload(f"time {name}", b"t,x\n" + rows.encode(), "text/csv", harmless=True)


def _jsons() -> Iterator[Upload]:
    def sent(name: str, body: str | bytes, harmless: bool = False) -> Upload:
        return Upload(
            f"json {name}",
            body.encode() if isinstance(body, str) else body,
            "application/json",
            harmless=harmless,
        )

    for depth in (50, 1_000, 100_000):
        yield sent(f"{depth} lists deep", "[" * depth + "]" * depth)
        yield sent(f"{depth} objects deep", '{"a":' * depth + "1" + "}" * depth)
        yield sent(
            f"{depth} trajectories deep",
            '{"dt": 1, "trajectories": ' + "[" * depth + "1" + "]" * depth + "}",
            harmless=True,
        )
    for literal in (
        "NaN",
        "Infinity",
        "-Infinity",
        "1e400",
        "-1e400",
        "9" * 5000,
        "0." + "1" * 100_000,
        "1" * 400,
        "true",
        '"1"',
        "{}",
        "[]",
    ):
        yield sent(
            f"sample {literal[:12]}",
            f'{{"dt": 1, "trajectories": [[0, 1, {literal}, 2, 1]]}}',
            harmless=True,
        )
        yield sent(
            f"step {literal[:12]}",
            f'{{"dt": {literal}, "trajectories": [[0, 1, 2, 1, 0]]}}',
            harmless=True,
        )
    yield sent("key twice", '{"dt": 1, "dt": 2, "trajectories": [[0, 1, 2]]}')
    yield sent("BOM", b"\xef\xbb\xbf" + b'{"dt": 1, "trajectories": [[0, 1, 0, 1]]}', harmless=True)
    yield sent("UTF-16", '{"dt": 1}'.encode("utf-16"))
    yield sent("lone surrogate", '{"\\ud800": 1}')
    yield sent("NUL in a name", '{"\\u0000": 1}')
    yield sent("prototype", '{"__proto__": {"x": 1}, "constructor": 1}')
    yield sent("a million keys", json.dumps({f"k{k}": k for k in range(200_000)}))
    yield sent("a long key", json.dumps({"k" * 1_000_000: 1}))
    yield sent("unfinished", '{"dt": 1, "trajectories": [[0, 1')
    yield sent("two documents", '{"dt": 1} {"dt": 2}')
    yield sent("comment", '{"dt": 1, /* */ "trajectories": []}')
    yield sent(
        "many empty trajectories", '{"dt": 1, "trajectories": [' + ",".join(["[]"] * 50_000) + "]}"
    )
    yield sent(
        "many short trajectories",
        '{"dt": 1, "trajectories": [' + ",".join(["[1,2]"] * 50_000) + "]}",
        harmless=True,
    )
    for value in (
        "null",
        "1",
        '"x"',
        "true",
        "[]",
        "{}",
        "[[]]",
        "[[[]]]",
        '{"trajectories": {}}',
        '{"trajectories": [1, 2]}',
    ):
        yield sent(f"document {value}", value, harmless=True)


def _header(
    shape: str, descr: str = "'<f8'", order: str = "False", length: int | None = None
) -> bytes:
    text = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}".encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text) if length is None else length) + text


def _npy(array: np.ndarray, **options: bool) -> bytes:
    file = io.BytesIO()
    npy.write_array(file, array, **options)
    return file.getvalue()


def _npys() -> Iterator[Upload]:
    def sent(name: str, body: bytes, harmless: bool = False) -> Upload:
        return Upload(f"npy {name}", body, "application/x-npy", {"dt": "0.1"}, harmless)

    shapes = (
        "(10**12,)",
        "(1000000000000,)",
        "(-1,)",
        "(0,)",
        "()",
        "(1,)*40",
        "(2, 2, 2, 2, 2)",
        "('a',)",
        "(1.5,)",
        "(2**63,)",
        "(5, 10**9)",
        "None",
    )
    for shape in shapes:
        yield sent(f"shape {shape}", _header(shape) + bytes(80))
    for descr in (
        "'|O'",
        "'<U10'",
        "'|S4'",
        "'<M8[s]'",
        "'<c16'",
        "'|V8'",
        "[('a', '<f8')]",
        "'<f16'",
        "'|b1'",
        "__import__('os')",
        "'<f8' * 9",
        "''",
    ):
        yield sent(f"type {descr}", _header("(10,)", descr) + bytes(160), harmless=descr == "'|b1'")
    yield sent("header of 65535 bytes", _header("(10,)", length=65_535))
    yield sent("header of lists", _header("(" + "(" * 500 + ")" * 500 + ")") + bytes(80))
    yield sent("version 9", b"\x93NUMPY\x09\x00" + bytes(100))
    yield sent("header of 4 GB", b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**32 - 1) + b"{}")
    yield sent("more than it says", _header("(10,)") + bytes(8000))
    yield sent("less than it says", _header("(1000,)") + bytes(80))
    yield sent(
        "pickle in an object array", _npy(np.array([Deed()], dtype=object), allow_pickle=True)
    )
    yield sent("bare pickle", pickle.dumps(Deed()))
    for name, value in {
        "nan": np.nan,
        "inf": np.inf,
        "huge": 1e308,
        "constant": 1.0,
        "tiny": 5e-324,
    }.items():
        yield sent(f"all {name}", _npy(np.full(100, value)), harmless=True)
    alternating = np.where(np.arange(100) % 2, 1.7e308, -1.7e308)
    yield sent("overflowing increments", _npy(alternating), harmless=True)
    for dtype in (">f8", "<f4", "<f2", "<i8", "<u8", "|i1"):
        yield sent(f"values of {dtype}", _npy((np.arange(100) % 7).astype(dtype)), harmless=True)
    for shape in ((100, 0), (0, 100), (1, 100_000), (3, 3, 3), (100, 65)):
        yield sent(
            f"array {shape}",
            _npy(np.zeros(shape) + np.arange(shape[-1] or 1)[: shape[-1]]),
            harmless=True,
        )


def _bomb(megabytes: int, name: str = "x.npy") -> bytes:
    head = _header(f"({megabytes * 125_000},)") if name.endswith(".npy") else b"t,x\n"
    return _zip({name: head + bytes(megabytes * 1_000_000)}, level=1)


def _zip(
    members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED, level: int | None = None
) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method, compresslevel=level) as archive:
        for name, body in members.items():
            archive.writestr(name, body)
    return file.getvalue()


def _npzs() -> Iterator[Upload]:
    def sent(name: str, body: bytes | Callable[[], bytes], harmless: bool = False) -> Upload:
        return Upload(f"npz {name}", body, "application/x-npz", {"dt": "0.1"}, harmless)

    good = _npy(np.arange(50) % 7.0)
    for megabytes in (100, 800):
        yield sent(f"bomb of {megabytes} MB", partial(_bomb, megabytes))
    for name in (
        "../../etc/passwd",
        "/etc/passwd",
        "a\\..\\b.npy",
        "x\0.npy",
        "con.npy",
        "." * 300,
        "x.npy/../../y.npy",
        "€.npy",
    ):
        yield sent(f"member {name[:20]!r}", _zip({name: good}), harmless=True)
    yield sent("many members", _zip({f"x{k}.npy": good for k in range(5_000)}), harmless=True)
    yield sent("no members", _zip({}))
    yield sent("member that is no array", _zip({"x.npy": b"hello"}))
    yield sent(
        "member that is a pickle",
        _zip({"x.npy": _npy(np.array([Deed()], dtype=object), allow_pickle=True)}),
    )
    lying = bytearray(_zip({"x.npy": good}, zipfile.ZIP_STORED))
    for offset, number in ((22, 2**32 - 1), (22, 1), (18, 2**32 - 1), (14, 0)):
        twisted = bytearray(lying)
        twisted[offset : offset + 4] = struct.pack("<I", number)
        yield sent(f"header's field at {offset} says {number}", bytes(twisted), harmless=True)
    yield sent("member twice", _twice(good), harmless=True)
    for method, name in ((zipfile.ZIP_BZIP2, "bzip2"), (zipfile.ZIP_LZMA, "lzma")):
        yield sent(f"compressed by {name}", _zip({"x.npy": good}, method), harmless=True)
    encrypted = bytearray(_zip({"x.npy": good}))
    encrypted[6] |= 1
    yield sent("encrypted", bytes(encrypted), harmless=True)


def _zips() -> Iterator[Upload]:
    def sent(name: str, body: bytes | Callable[[], bytes], harmless: bool = False) -> Upload:
        return Upload(f"zip {name}", body, "application/zip", {}, harmless)

    good = b"t,x\n" + b"".join(b"%d,%d\n" % (k, k % 7) for k in range(50))
    array = _zip({"x.npy": _npy(np.arange(50) % 7.0)})
    for megabytes in (100, 800):
        yield sent(f"bomb of {megabytes} MB", partial(_bomb, megabytes, "x.csv"))
    for name in ("../../etc/passwd", "/etc/passwd", "a\\..\\b.csv", "x\0.csv", "." * 300, "€.csv"):
        yield sent(f"member {name[:20]!r}", _zip({name: good}), harmless=True)
    yield sent("many members", _zip({f"x{k}.csv": good for k in range(5_000)}), harmless=True)
    yield sent("no members", _zip({}))
    yield sent("folders only", _zip({"a/": b"", "a/b/": b""}))
    yield sent("member of nothing", _zip({"x.csv": good, "y.csv": b""}))
    yield sent("member that is a picture", _zip({"x.csv": good, "y.png": b"\x89PNG\r\n\x1a\n" * 9}))
    yield sent(
        "members of other variables", _zip({"x.csv": good, "y.csv": good.replace(b"x", b"y")})
    )
    # An archive may hold arrays of NumPy, but no archive.
    yield sent("npz in a zip", _zip({"x.npz": array}), harmless=True)
    yield sent("zip in a zip", _zip({"x.zip": _zip({"x.csv": good})}))
    yield sent("npz in a zip in a zip", _zip({"x.zip": _zip({"x.npz": array})}))
    for offset, number in ((22, 2**32 - 1), (22, 1), (18, 2**32 - 1), (14, 0)):
        twisted = bytearray(_zip({"x.csv": good}, zipfile.ZIP_STORED))
        twisted[offset : offset + 4] = struct.pack("<I", number)
        yield sent(f"header's field at {offset} says {number}", bytes(twisted), harmless=True)
    encrypted = bytearray(_zip({"x.csv": good}))
    encrypted[6] |= 1
    yield sent("encrypted", bytes(encrypted), harmless=True)


def _twice(body: bytes) -> bytes:
    file = io.BytesIO()
    import warnings

    with zipfile.ZipFile(file, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        archive.writestr("x.npy", body)
        archive.writestr("x.npy", body)
    return file.getvalue()


def _arrows() -> Iterator[Upload]:
    parquet = "application/vnd.apache.parquet"

    def table(**columns: object) -> bytes:
        file = io.BytesIO()
        pq.write_table(pa.table(columns), file)
        return file.getvalue()

    yield Upload("parquet bomb", table(x=pa.array(np.zeros(30_000_000))), parquet)
    yield Upload("parquet of text", table(x=["a"] * 50), parquet)
    yield Upload("parquet of lists", table(x=[[1.0], [2.0]] * 25), parquet, harmless=True)
    yield Upload("parquet of structs", table(x=[{"a": 1.0}] * 50), parquet)
    yield Upload("parquet of nulls", table(x=pa.nulls(50)), parquet)
    yield Upload("parquet without columns", table(), parquet)
    yield Upload(
        "parquet of 2000 columns", table(**{f"c{k}": [1.0, 2.0] for k in range(2_000)}), parquet
    )
    yield Upload(
        "parquet of dictionaries", table(x=pa.array(["a", "b"] * 25).dictionary_encode()), parquet
    )
    yield Upload(
        "parquet of decimals",
        table(x=pa.array([1, 2] * 25, pa.decimal128(38, 10))),
        parquet,
        harmless=True,
    )
    sink = io.BytesIO()
    arrow_table = pa.table({"x": np.arange(50) % 7.0})
    with pa.ipc.new_file(sink, arrow_table.schema) as writer:
        writer.write_table(arrow_table)
    good = sink.getvalue()
    for name, body in {"parquet": table(x=np.arange(50) % 7.0), "arrow": good}.items():
        media_type = parquet if name == "parquet" else "application/vnd.apache.arrow.file"
        chance = np.random.default_rng(7)
        for number in range(20):
            twisted = bytearray(body)
            for place in chance.integers(0, len(body), 8):
                twisted[place] ^= int(chance.integers(1, 256))
            yield Upload(
                f"{name} with flipped bits {number}",
                bytes(twisted),
                media_type,
                {"dt": "1"},
                harmless=True,
            )


def _formats() -> dict[str, tuple[bytes, str]]:
    parquet = io.BytesIO()
    pq.write_table(pa.table({"x": np.arange(50) % 7.0}), parquet)
    array = _npy(np.arange(50) % 7.0)
    return {
        "csv": (CSV, "text/csv"),
        "json": (b'{"dt": 1, "trajectories": [[0, 1, 0, 2, 1, 0]]}', "application/json"),
        "npy": (array, "application/x-npy"),
        "npz": (_zip({"x.npy": array}), "application/x-npz"),
        "parquet": (parquet.getvalue(), "application/vnd.apache.parquet"),
        "mat": (_mat(x=np.arange(50) % 7.0), "application/x-matlab-data"),
    }


def _mat(**variables: object) -> bytes:
    file = io.BytesIO()
    savemat(file, variables, do_compression=True)
    return file.getvalue()


def _mats() -> Iterator[Upload]:
    kind, good = (
        "application/x-matlab-data",
        _mat(x=np.arange(50) % 7.0, s={"t": np.arange(5.0), "c": [[1.0], "a"]}),
    )
    yield Upload("mat bomb", lambda: _mat(x=np.zeros(60_000_000)), kind)
    yield Upload("mat of text", _mat(x="abc"), kind)
    chance = np.random.default_rng(9)
    for number in range(20):
        twisted = bytearray(good)
        for place in chance.integers(128, len(good), 3):
            twisted[place] ^= int(chance.integers(1, 256))
        yield Upload(
            f"mat with flipped bits {number}", bytes(twisted), kind, {"dt": "1"}, harmless=True
        )


def _torn() -> Iterator[Upload]:
    for name, (body, media_type) in _formats().items():
        for share in (0.0, 0.1, 0.3, 0.5, 0.9, 0.99):
            piece = body[: int(share * len(body))]
            yield Upload(
                f"{name} torn at {share}",
                piece,
                media_type,
                {"dt": "1"} if name != "csv" else {},
                harmless=True,
            )
        yield Upload(
            f"{name} followed by rubbish",
            body + b"\xde\xad\xbe\xef" * 100,
            media_type,
            {"dt": "1"},
            harmless=True,
        )
        yield Upload(f"{name} twice over", body * 2, media_type, {"dt": "1"}, harmless=True)


def _mislabelled() -> Iterator[Upload]:
    formats = _formats()
    for name, (body, media_type) in formats.items():
        for other, (_, wrong) in formats.items():
            if wrong != media_type:
                yield Upload(f"{name} said to be {other}", body, wrong, {"dt": "1"}, harmless=True)
    for odd in (
        "image/png",
        "text/html",
        "application/pdf",
        "../../x",
        "a/b; charset=\x7f",
        "application/x-hdf5",
    ):
        yield Upload(
            f"content type {odd!r}", CSV, odd.encode("ascii", "ignore").decode(), harmless=True
        )
    for name, magic in {
        "hdf5": b"\x89HDF\r\n\x1a\n",
        "mat": b"MATLAB 7.3",
        "elf": b"\x7fELF",
        "pdf": b"%PDF-1.7",
        "png": b"\x89PNG\r\n\x1a\n",
    }.items():
        yield Upload(f"{name} by its first bytes", magic + bytes(1000), "application/octet-stream")


def _layouts() -> Iterator[Upload]:
    odd = {
        "dt": ("0", "-1", "nan", "inf", "1e-400", "x", "9" * 400, "1e308"),
        "time_column": ("no such", "", "x" * 5000, "../etc", "<script>", "t,x"),
        "id_column": ("t", "no such", "\u202e"),
        "state_columns": ("t", "x,x", ",", "no such", ",".join(["x"] * 5000)),
        "axes": ("ttt", "xyz", "", "ntdntd"),
        "orientation": ("diagonal", ""),
        "gap_factor": ("0", "-5", "nan", "1e300"),
        "tenant": ("victim",),
        "time_unit": ("<b>", "x" * 5000),
        "state_unit": ("<b>", "x=\u0000", "no such=nm", "=", "t=s", "x" * 5000, "x=" + "n" * 5000),
        "state_names": (
            "x",
            "x=x^2",
            "x=<script>",
            "x=\u202e",
            "t=v",
            "x=" + "v" * 5000,
            "=v",
            "9=v",
        ),
    }
    for field_name, values in odd.items():
        for value in values:
            yield Upload(
                f"layout {field_name}={value[:20]!r}",
                CSV,
                "text/csv",
                {field_name: value},
                harmless=True,
            )


def _compressed() -> Iterator[Upload]:
    zeros = bytes(50_000_000)
    yield Upload("gzip bomb", gzip.compress(zeros), "text/csv")
    yield Upload("bzip2 bomb", bz2.compress(zeros), "text/csv")
    yield Upload("gzip said to be gzip", gzip.compress(CSV), "application/gzip", harmless=True)
    yield Upload("zip of a CSV", _zip({"x.csv": CSV}), "application/zip", harmless=True)
