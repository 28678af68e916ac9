"""Upload → canonical trajectories and a report of what was read.

`process.read_upload` is the only entrance. It runs `python -m service.readers` as a child with memory and time limits, so that a
hostile file costs one request. The parent imports `process`, `errors` and `limits` and nothing else from here.
"""
