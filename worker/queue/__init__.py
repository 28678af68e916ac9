"""The worker's side of the queue: Celery, leases, watchdogs and webhooks."""
