"""Two coordinates: the generator as a sparse matrix on the rectangle where the density lives. Start reading at `planar.py`."""
