"""What a long-lived process keeps in memory: no library that nothing uses, and none that has been freed."""

from __future__ import annotations

import asyncio
import importlib
import subprocess
import sys
from datetime import timedelta

import pytest

from tidegate.core.clock import SystemClock
from tidegate.core.process.memory import give_back, without

UNUSED = {
    "rich": "from tidegate.cli import command_runner; command_runner.loaded(); import tidegate.web",
    "PIL, sqlite3": "from tidegate.app import platform_registry as all_of; all_of.adapter_of(all_of.TELEGRAM, R, None)",
}
"""Libraries, and the code that loads others which would use them."""
RUNTIME = "from types import SimpleNamespace as S; R = S(settings=S(telegram_api_id=1, telegram_api_hash=None))"


def test_a_library_is_missing_in_the_block_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was loaded before stays usable, also by others at that time."""
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    with without("colorsys", "asyncio"):
        with pytest.raises(ImportError):
            importlib.import_module("colorsys")
        assert importlib.import_module("asyncio") is asyncio
    assert importlib.import_module("colorsys").rgb_to_hsv(0, 0, 0) == (0, 0, 0)


@pytest.mark.parametrize("names", UNUSED)
def test_what_a_library_could_use_and_we_do_not_is_not_loaded(names: str) -> None:
    """Each takes some megabytes of a process that runs for months."""
    asked = f"{RUNTIME}\n{UNUSED[names]}\nimport sys\nprint([one for one in {names.split(', ')} if one in sys.modules])"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


class MinutesThatPass(SystemClock):
    """Three minutes that take no time; then whoever sleeps is ended."""

    def __init__(self) -> None:
        self.slept = timedelta()

    async def sleep(self, span: timedelta) -> None:
        if self.slept == timedelta(minutes=3):
            raise asyncio.CancelledError
        self.slept += span


async def test_memory_is_given_back_again_and_again() -> None:
    """Each minute, as long as the process runs, with the sessions of the database."""
    renewed = list[int]()

    async def renew() -> None:
        renewed.append(1)

    with pytest.raises(asyncio.CancelledError):
        await give_back(MinutesThatPass(), renew)
    assert len(renewed) == 3
