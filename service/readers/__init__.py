"""Readers of uploads: a file becomes canonical trajectories and a report of what was read.

`process.read_upload` is the only entrance. It runs `python -m service.readers` as a child process
with limits on memory and time, so that a hostile file costs one request. The serving process
imports `process`, `errors`, `options` and `formats.sniffing`, and nothing else from this folder.
"""
