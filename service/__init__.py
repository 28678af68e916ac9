"""HTTP: validate, store, enqueue, report. No numerics."""
