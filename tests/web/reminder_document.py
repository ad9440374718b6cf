"""A reminder as the API takes it."""

from __future__ import annotations

from typing import Any

WRITTEN: dict[str, Any] = {
    "name": "Friday stock",
    "account": "shop",
    "all": True,
    "delivery_window_start_hour": 0,
    "delivery_window_end_hour": 24,
    "parts": [{"text": "Good morning {group}"}],
}
