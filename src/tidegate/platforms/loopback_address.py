"""Finds where a loopback process on this machine serves its platforms."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from typing import Any

from tidegate.core.errors import BadInput, PlatformError
from tidegate.core.platform import Platform


async def where(control: str, platform: Platform) -> str:
    """The address of one platform of a loopback process."""
    address = (await get(control, "/")).get(platform.name)
    if address is None:
        raise PlatformError(f"The loopback process at {control} has no {platform.brand}.")
    return str(address)


async def get(control: str, path: str) -> Any:
    """The answer of a loopback process's control address."""
    if not control.startswith("http://127.0.0.1:"):
        raise BadInput(f"{control} is no loopback platform: its control address begins with http://127.0.0.1:")
    return await asyncio.to_thread(_get, control.rstrip("/") + path)


def _get(url: str) -> Any:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310 - checked above: 127.0.0.1 over http
            return json.load(answer)
    except (OSError, ValueError) as problem:
        raise PlatformError(f"No loopback platform answers at {url}; start one with: tidegate loopback") from problem
