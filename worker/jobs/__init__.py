"""Each kind of job: its parameters, its computation and its document."""
