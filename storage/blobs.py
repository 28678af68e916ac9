"""Where datasets and results are kept: in the data folder, or in an object store that every host can reach."""

from datetime import timedelta
from pathlib import Path

from obstore.store import S3Store

from storage.datasets import LocalDatasetStore
from storage.objects import ObjectDatasetStore, ObjectResultStore
from storage.results import LocalResultStore
from storage.stores import DatasetStore, ResultStore

Blobs = tuple[DatasetStore, ResultStore]


def open_blobs(data_dir: Path, url: str | None) -> Blobs:
    """The stores of datasets and of results.

    url   `s3://bucket/prefix`; credentials, region and endpoint are taken from the usual `AWS_…` variables. None: the folder

    Raises ValueError for a URL that is none of these.
    """
    if url is None:
        return LocalDatasetStore(data_dir), LocalResultStore(data_dir)
    if not url.startswith("s3://"):
        raise ValueError("the blob store's URL must begin with s3://")
    store = S3Store.from_url(
        url,
        # Given up soon enough that a caller gets 503 and not a broken connection.
        retry_config={"max_retries": 3, "retry_timeout": timedelta(seconds=20)},
        client_options={"timeout": "60s", "connect_timeout": "3s", "allow_http": True},
    )
    return ObjectDatasetStore(store), ObjectResultStore(store)
