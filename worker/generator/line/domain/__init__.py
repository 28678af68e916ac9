"""The domain of the analysis on the line: its ends, its extent and its ergodicity."""
