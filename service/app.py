"""The composition root of the HTTP process, which builds the application from its settings."""

import threading
from functools import partial

from fastapi import FastAPI

from service import errors
from service.access.admission import Admission
from service.access.keyring import KeyRing
from service.dependencies import Components, Queue, Reader
from service.job_polling import JobWatch
from service.metrics import Metrics
from service.openapi import interface
from service.readers.options import Limits
from service.readers.process import read_upload
from service.reading_turns import ReadingTurns
from service.requests.middleware import ExchangeMiddleware
from service.routes import batches, datasets, events, health, jobs, pages, schemas
from service.settings import ServiceSettings
from storage.blobs import open_blobs
from storage.redis.connection import connect
from storage.redis.jobs import JobStore
from storage.redis.queue import CeleryQueue
from storage.stores import Stores
from storage.telemetry import traces


def create_app(
    settings: ServiceSettings,
    *,
    stores: Stores | None = None,
    reader: Reader | None = None,
    queue: Queue | None = None,
) -> FastAPI:
    """Build the application without connecting to anything: Redis may come and go.

    Raises BadKeyFile, OSError if the key file cannot be read.
    """
    stores, stopping = stores or open_stores(settings), threading.Event()
    context = Components(
        settings=settings,
        stores=stores,
        reader=reader
        or partial(read_upload, limits=Limits().for_numbers(settings.max_upload_numbers)),
        queue=queue or CeleryQueue(settings.redis_url),
        keys=KeyRing(settings.key_file),
        admission=Admission(settings, stores),
        metrics=Metrics(stores.jobs, settings),
        reading=ReadingTurns(settings.readers),
        watch=JobWatch(stores.jobs, stopping),
        traces=traces("service"),
        stopping=stopping,
    )
    app = FastAPI(
        title="Itoscope",
        version=interface.VERSION,
        summary="Identify stochastic differential equations and their time scales from measured "
        "trajectories.",
        docs_url=None,
        redoc_url=None,
        separate_input_output_schemas=False,
        generate_unique_id_function=interface.operation_id,
        redirect_slashes=False,
    )
    app.state.context = context
    described = (
        datasets.router, jobs.router, events.router, pages.reports, batches.router, schemas.router
    )  # fmt: skip
    for router in (*described, events.webhooks, health.router, pages.router):
        app.include_router(router)
    errors.install(app)
    interface.install(app)
    app.add_middleware(ExchangeMiddleware)
    pages.prepare()
    return app


def open_stores(settings: ServiceSettings) -> Stores:
    """Open the stores: jobs in Redis, data and results in the data folder or an object store."""
    datasets, results = open_blobs(settings.data_dir, settings.blob_url)
    return Stores(jobs=JobStore(connect(settings.redis_url)), datasets=datasets, results=results)
