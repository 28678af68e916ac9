"""The choice between the data folder and an object store that every host can reach."""

from pathlib import Path

from storage.bucket import s3_bucket
from storage.datasets import LocalDatasetStore
from storage.objects import ObjectDatasetStore, ObjectResultStore
from storage.results import LocalResultStore
from storage.stores import DatasetStore, ResultStore

Blobs = tuple[DatasetStore, ResultStore]


def open_blobs(data_dir: Path, url: str | None) -> Blobs:
    """Open the stores of datasets and of results.

    url   `s3://bucket/prefix`, with credentials, region and endpoint from the usual `AWS_…`
          variables; None: the data folder

    Raise ValueError for any other URL.
    """
    if url is None:
        return LocalDatasetStore(data_dir), LocalResultStore(data_dir)
    if not url.startswith("s3://"):
        raise ValueError("the blob store's URL must begin with s3://")
    bucket = s3_bucket(url)
    return ObjectDatasetStore(bucket), ObjectResultStore(bucket)
