"""An S3 server with a bucket: moto's, or the real one that the variable S3_SERVER names.

moto keeps objects in memory and checks no signatures. For a real server: S3_SERVER=http://127.0.0.1:8333 ./dev test …
with the keys "key" and "secret".
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto.server import ThreadedMotoServer

from tidegate.media.s3_store import open_s3_store
from tidegate.media.store import MediaStore

BUCKET = "harbour"
KEYS = {"aws_access_key_id": "key", "aws_secret_access_key": "secret", "region_name": "us-east-1"}


@pytest.fixture(scope="session")
def endpoint() -> Iterator[str]:
    """A running server with one bucket."""
    with _running() as address:
        try:
            client(address).create_bucket(Bucket=BUCKET)
        except ClientError as problem:  # of an earlier run against a real server
            if not problem.response["Error"]["Code"].startswith("BucketAlready"):
                raise
        yield address


@contextmanager
def _running() -> Iterator[str]:
    if "S3_SERVER" in os.environ:
        yield os.environ["S3_SERVER"]
        return
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    yield "http://{}:{}".format(*server.get_host_and_port())
    server.stop()


def client(endpoint: str) -> Any:
    """A client that is no part of Tidegate."""
    return boto3.client("s3", endpoint_url=endpoint, **KEYS)


def address(endpoint: str, prefix: str) -> str:
    return f"s3://{BUCKET}/{prefix}?endpoint={endpoint}"


def open_bucket(endpoint: str, prefix: str) -> MediaStore:
    return open_s3_store(address(endpoint, prefix), key="key", secret="secret")
