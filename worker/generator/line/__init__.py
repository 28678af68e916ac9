"""The analysis on the line, on half-lines and on intervals."""
