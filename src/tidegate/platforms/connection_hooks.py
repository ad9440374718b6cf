"""What a client's connection calls: a check before bytes are sent, and a report when it is lost or restored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class HookedConnection(Protocol):
    """A connection that checks before bytes are sent, and reports when it is lost or restored."""

    pre_send_check: Callable[[], object]
    connection_changed: Callable[[str | None], object]


class ConnectionHooks:
    """Lets a client's owner set the hooks of its connection (``ChecksBeforeSend``, ``ReportsConnection``)."""

    _connection: HookedConnection

    @property
    def pre_send_check(self) -> Callable[[], object]:
        return self._connection.pre_send_check

    @pre_send_check.setter
    def pre_send_check(self, check: Callable[[], object]) -> None:
        self._connection.pre_send_check = check

    @property
    def connection_changed(self) -> Callable[[str | None], object]:
        return self._connection.connection_changed

    @connection_changed.setter
    def connection_changed(self, changed: Callable[[str | None], object]) -> None:
        self._connection.connection_changed = changed
