"""One module for each file format, with the helpers that only formats need.

`sniffing` names the format of an upload; `csv`, `json`, `arrow`, `numpy` and `matlab` read one each.
"""
