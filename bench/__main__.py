"""``python -m bench [NAME] [--json]``: run one benchmark or all of them.

A benchmark is a file here with a docstring, whose first line is its claim, and ``async def run() -> dict``.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import inspect
import json
import pkgutil
import sys
from types import ModuleType
from typing import Any

import bench
from tidegate.app import logs
from tidegate.app.setting_types import LogLevel

_LONG = {"growth", "peers"}
"""Benchmarks that run only when they are named."""


def discover() -> dict[str, ModuleType]:
    """Every benchmark by its name."""
    names = sorted(found.name for found in pkgutil.iter_modules(bench.__path__) if not found.name.startswith("_"))
    modules = {name: importlib.import_module(f"bench.{name}") for name in names}
    return {
        name: module for name, module in modules.items() if inspect.iscoroutinefunction(getattr(module, "run", None))
    }


def main() -> None:
    benchmarks = discover()
    parser = argparse.ArgumentParser(prog="./dev bench", description="Measure what is claimed, against a baseline.")
    parser.add_argument("name", nargs="?", choices=list(benchmarks), help="one of them; all when left out")
    parser.add_argument("--json", action="store_true", help="one JSON document instead of lines for people")
    parser.add_argument("--large", action="store_true", help="ten million messages, where a benchmark has them")
    parser.add_argument("--most", type=int, metavar="N", help="the largest size, where a benchmark has several")
    parser.add_argument("--cache", metavar="FOLDER", help="keep the packages of other projects there for the next time")
    asked = parser.parse_args()
    logs.set_up(LogLevel.ERROR)  # on stderr: stdout is the answer's alone
    names = [asked.name] if asked.name else [name for name in benchmarks if name not in _LONG]
    results: dict[str, dict[str, Any]] = {}
    for name in names:
        print(f"{name}: measuring …", file=sys.stderr)
        known = inspect.signature(benchmarks[name].run).parameters
        given = {"large": asked.large, "most": asked.most, "cache": asked.cache}
        how = {option: value for option, value in given.items() if value and option in known}
        results[name] = asyncio.run(benchmarks[name].run(**how))
        if not asked.json:
            tell(name, benchmarks[name], results[name])
    if asked.json:
        print(json.dumps(results[asked.name] if asked.name else results, indent=2))


def tell(name: str, benchmark: ModuleType, result: dict[str, Any]) -> None:
    """The claim and the figures, a line each."""
    claim = (benchmark.__doc__ or name).splitlines()[0]
    print(f"{name}: {claim}")
    for figure, value in result.items():
        print(f"  {figure:<28} {value:>12,}" if isinstance(value, int | float) else f"  {figure:<28} {value}")


if __name__ == "__main__":
    main()
