"""ZIP archives of files: each file holds trajectories of the same variables."""

import tempfile
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import cast

import numpy as np

from service.readers.errors import UnreadableData, too_large
from service.readers.formats.sniffing import Format, format_of
from service.readers.options import Limits, Notes
from service.readers.table import Floats, Lines, Record

_PIECE = 1 << 20
_BYTES_PER_NUMBER = 25
"""Bytes of text that one number may take."""
_APART = "Read files of different variables as datasets of their own."

Member = Callable[[Path, Format, Notes], Record]
"""Function (file, format, notes) → record."""


def read_zip(path: Path, limits: Limits, notes: Notes, read: Member) -> Record:
    """Read every file of an archive and join their trajectories.

    read   function that reads one file

    Raises UnreadableData, which names the file at fault.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = [m for m in archive.infolist() if not m.is_dir() and not _is_hidden(m)]
            _check(members, limits)
            records = [_member(archive, member, path.parent, notes, read) for member in members]
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        raise UnreadableData(
            f"The ZIP archive is damaged or has a password: {str(error)[:200]}.",
            "Pack the files again, without a password.",
        ) from None
    return _joined([member.filename for member in members], records, limits, notes)


def _is_hidden(member: zipfile.ZipInfo) -> bool:
    """Return whether a system put a file into the archive by itself."""
    return member.filename.startswith("__MACOSX/") or Path(member.filename).name.startswith(".")


def _check(members: Sequence[zipfile.ZipInfo], limits: Limits) -> None:
    if not members:
        raise UnreadableData("The ZIP archive holds no file.", code="empty-file")
    size = sum(member.file_size for member in members)
    if len(members) > limits.members or size > _BYTES_PER_NUMBER * limits.numbers:
        raise too_large(
            f"The ZIP archive holds {len(members):,} files of {size / 1e6:,.0f} MB in all.",
            "Upload fewer files, or NPY or Parquet.",
        )


def _member(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, home: Path, notes: Notes, read: Member
) -> Record:
    own = Notes()
    with tempfile.TemporaryDirectory(dir=home) as folder:
        file = Path(folder) / "member"
        left = member.file_size
        with archive.open(member) as source, file.open("wb") as target:
            while piece := source.read(min(_PIECE, left + 1)):
                left -= len(piece)
                if left < 0:
                    raise zipfile.BadZipFile(f"{member.filename[:100]} is longer than it says")
                target.write(piece)
        with file.open("rb") as source:
            head = source.read(4096)
        try:
            form = format_of(head, None, member.filename)
            if form == "zip":
                raise UnreadableData("It is a ZIP archive in an archive.", "Unpack it first.")
            record = read(file, form, own)
        except UnreadableData as error:
            error.detail = f"In {member.filename[:100]}: {error.detail}"
            raise
    if notes.dt_in_file not in (None, own.dt_in_file):
        raise UnreadableData(
            f"In {member.filename[:100]}: the sampling interval is not that of the files before "
            "it.",
            "Give dt, or read the files as datasets of their own.",
        )
    notes.dt_in_file = own.dt_in_file
    for sentence in own.assumptions:
        notes.assume(sentence)
    said = {warning["message"] for warning in notes.warnings}
    notes.warnings += [warning for warning in own.warnings if warning["message"] not in said]
    return record


def _joined(
    names: Sequence[str], records: Sequence[Record], limits: Limits, notes: Notes
) -> Record:
    first = records[0]
    for name, record in zip(names, records, strict=True):
        if _kind(record) != _kind(first):
            raise UnreadableData(
                f"The files do not belong together: {name[:100]} has {_words(record)}, but "
                f"{names[0][:100]} has {_words(first)}.",
                _APART,
            )
    if sum(record.states.size for record in records) > limits.numbers:
        raise too_large(f"The files hold more than {limits.numbers:,} numbers.")
    trajectories, lines, places, samples, before = [], Lines([], []), [], 0, 0
    for name, record in zip(names, records, strict=True):
        n = len(record.states)
        own = np.zeros(n, np.int64) if record.trajectory is None else record.trajectory
        trajectories.append(own + before)
        before += int(own.max(initial=-1)) + 1
        lines.first_sample += [samples + start for start in record.lines.first_sample]
        lines.first_line += record.lines.first_line
        places.append((samples, name[:100]))
        samples += n
    if len(records) > 1:
        listed = ", ".join(name[:60] for name in names[:20]) + (", …" if len(names) > 20 else "")
        notes.assume(f"the {len(names)} files hold trajectories of their own, in order: {listed}")
    timed = first.times is not None
    printed = [record.printed for record in records]
    return replace(
        first,
        states=np.concatenate([record.states for record in records]),
        times=np.concatenate([cast(Floats, r.times) for r in records]) if timed else None,
        printed=(
            None
            if any(stamps is None for stamps in printed)
            else np.concatenate([stamps for stamps in printed if stamps is not None])
        ),
        tick=max(record.tick for record in records),
        trajectory=np.concatenate(trajectories),
        names=tuple(name for names in map(_names, names, records) for name in names),
        groups=_groups(names, records, notes),
        inputs=_stacked([record.inputs for record in records]),
        errors=_stacked([record.errors for record in records]),
        padded=any(record.padded for record in records),
        lines=lines,
        files=tuple(places),
    )


def _count(record: Record) -> int:
    return 1 if record.trajectory is None else int(record.trajectory.max(initial=-1)) + 1


def _names(file: str, record: Record) -> list[str]:
    """Name the trajectories of a file: by it, and by their own names or numbers in it."""
    stem = PurePosixPath(file).with_suffix("").as_posix()[-100:]
    count = _count(record)
    if count == 1 and not record.names:
        return [stem]
    own = record.names or tuple(str(k + 1) for k in range(count))
    return [f"{stem}: {name}"[:200] for name in own]


def _groups(files: Sequence[str], records: Sequence[Record], notes: Notes) -> tuple[str, ...]:
    """Return the group of each trajectory: as its file says, or the folder of its file."""
    own = [record.groups * (_count(record) if len(record.groups) == 1 else 1) for record in records]
    if all(own):
        return tuple(group for groups in own for group in groups)
    folders = [PurePosixPath(file).parent.as_posix() for file in files]
    if "." in folders or len(set(folders)) < 2 or any(own):
        return ()
    notes.assume("each folder of the archive is a group of trajectories")
    return tuple(
        folder
        for folder, record in zip(folders, records, strict=True)
        for _ in range(_count(record))
    )


def _stacked(parts: Sequence[Floats | None]) -> Floats | None:
    present = [part for part in parts if part is not None]
    return np.concatenate(present) if len(present) == len(parts) and present else None


def _kind(record: Record) -> tuple[object, ...]:
    """Return what files of one dataset have in common."""
    variables = tuple((v.column, v.unit) for v in record.variables)
    inputs = tuple((v.column, v.unit) for v in record.input_variables)
    beside = inputs, record.errors is None
    return (*variables, beside, record.times is None, record.counted, record.time_unit)


def _words(record: Record) -> str:
    named = ", ".join(v.column or "a nameless variable" for v in record.variables)
    clock = "no times" if record.times is None else f"times in {record.time_unit or 'no unit'}"
    return f"{named} and {clock}"
