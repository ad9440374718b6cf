"""The form for a new account."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field, PlainValidator

from tidegate.core.account import Standing
from tidegate.core.errors import BadInput
from tidegate.core.platform import Platform, platform_named
from tidegate.core.rules.outgoing_proxy import ProxyAddress, parse_proxy


class NewAccount(BaseModel):
    """What a person typed; everything but the proxy is shown again when something was refused."""

    name: Annotated[str, Field(max_length=200)] = ""
    platform: Annotated[Platform, PlainValidator(platform_named)] | None = None
    standing: Standing = Standing.NORMAL
    loopback: Annotated[str, Field(max_length=200)] = ""
    proxy: Annotated[str, Field(max_length=1_000)] = ""
    phone: Annotated[str, Field(max_length=50)] = ""

    @property
    def proxy_address(self) -> ProxyAddress | None:
        """The proxy to connect through, None without one; ``BadInput`` where it is not an address."""
        return parse_proxy(self.proxy.strip()) if self.proxy.strip() else None

    def faulty_field(self) -> str:
        """The id of the input that was refused: the proxy if it cannot be read, else the name."""
        try:
            self.proxy_address  # noqa: B018 - reading it is the check
        except BadInput:
            return "add-proxy"
        return "add-name" if self.platform else "platforms"
