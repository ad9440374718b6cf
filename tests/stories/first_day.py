"""An empty Tidegate beside loopback platforms: the service as first started, and its link."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cli.account_commands import line, tell
from tests.cli.program import Started, running
from tests.servers import free_port, make_home
from tidegate.database.pool import Address


@dataclass(frozen=True, slots=True)
class FirstDay:
    """What its owner has: a link to sign in with, and the control address of the platforms."""

    link: str
    control: str
    home: Path

    @property
    def base(self) -> str:
        return self.link.partition("/sign-in")[0]

    def scan(self) -> None:
        """The phone scans the code that is shown."""
        assert tell(f"{self.control}/whatsapp/pair", phone="Shop") is not None


@asynccontextmanager
async def first_day(folder: Path, address: Address, world: Mapping[str, Any]) -> AsyncIterator[FirstDay]:
    """Start the platforms with that world, and ``tidegate serve`` on an empty database."""
    home = make_home(folder)
    (home / "world.json").write_text(json.dumps(world))
    settings = home / "tidegate.toml"
    settings.touch(0o600)
    settings.write_text(f'database_url = "{address.url}"\nweb_port = {free_port()}\n')
    async with running("loopback", "--world", str(home / "world.json"), home=home) as platforms:
        control = json.loads(await line(platforms.stdout))["control"]
        async with running("serve", home=home) as service:
            yield FirstDay(await _link(service), control, home)


async def _link(service: Started) -> str:
    while said := await line(service.stderr):
        if found := re.search(r"http://\S+/sign-in\?once=\S+", said):
            return found[0]
    raise AssertionError("no link was printed")
