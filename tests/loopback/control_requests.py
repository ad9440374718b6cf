"""Requests to the control address of a loopback platform."""

from __future__ import annotations

from typing import Any

import httpx


async def tell(control: httpx.AsyncClient, path: str, verb: str = "POST", /, **body: Any) -> Any:
    answer = await control.request(verb, path, json=body or None)
    assert answer.status_code == 200, answer.text
    return answer.json()
