"""Readers of file formats, and what only they need.

`sniffing` recognises the format of an upload. `csv` (with `text`, `dialect` and `column_parser`)
and `arrow` make a table of it, `json`, `numpy` and `matlab` arrays, which `arrays` turns into a
record.
"""
