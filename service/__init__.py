"""The HTTP service: it validates, stores, enqueues and reports, without numerics."""
