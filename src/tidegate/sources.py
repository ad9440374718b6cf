"""Where settings come from, strongest first: the environment, ``tidegate.toml``, the defaults.

Every value remembers its source, so that ``tidegate settings`` can show it and a refusal can name the key as the
operator wrote it.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import SecretStr, TypeAdapter

from tidegate.errors import BadInput
from tidegate.setting_kinds import Alias, Allowed
from tidegate.settings import Settings
from tidegate.spans import span_text

PREFIX = "TIDEGATE_"
DEFAULT = "default"
_NOT_SETTINGS = {"TIDEGATE_CONFIG", "TIDEGATE_DEBUG"}
_FOR_TESTS = "TIDEGATE_TEST_"


@dataclass(frozen=True, slots=True)
class Loaded:
    """The settings, where each value came from, and what the operator should hear about."""

    settings: Settings
    sources: Mapping[str, str]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Found:
    value: Any
    source: str


def load(environment: Mapping[str, str] | None = None, *, folder: Path | None = None) -> Loaded:
    """Find and check every setting; *folder* is where a ``tidegate.toml`` is looked for first.

    Raises ``BadInput`` with a sentence for each value that cannot be, all of one source together.
    """
    environment = os.environ if environment is None else environment
    found = _from_environment(environment)
    home = found["home"].value if "home" in found else Settings().home
    file = _file(environment, folder or Path.cwd(), home)
    if file is not None:
        found = {**_from_file(file), **found}
    settings = Settings(**{name: finding.value for name, finding in found.items()})
    sources = {name: found[name].source if name in found else DEFAULT for name in Settings.model_fields}
    return Loaded(settings, sources, tuple(_unknown_variables(environment)))


def variables(name: str) -> list[Alias]:
    """The environment names of a setting, strongest first."""
    extra = Settings.model_fields[name].json_schema_extra
    further: Any = extra.get("aliases", []) if isinstance(extra, dict) else []
    return [Alias(PREFIX + name.upper()), *further]


def is_secret(name: str) -> bool:
    return Settings.model_fields[name].annotation == SecretStr | None


def shown(value: object) -> str | int | float | bool | None:
    """A setting's value for people and scripts; of a secret only that it is set."""
    if isinstance(value, SecretStr):
        return "(set, hidden)"
    if isinstance(value, timedelta):
        return span_text(value)
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def allowed(name: str) -> str:
    """What the value of a setting must be, as the end of a sentence."""
    texts = [about.text for about in Settings.model_fields[name].metadata if isinstance(about, Allowed)]
    return texts[-1]


def _from_environment(environment: Mapping[str, str]) -> dict[str, _Found]:
    found: dict[str, _Found] = {}
    refusals: list[str] = []
    for name in Settings.model_fields:
        try:
            if finding := _from_variables(name, environment):
                found[name] = finding
        except BadInput as refusal:
            refusals.append(str(refusal))
    if refusals:
        raise BadInput("\n".join(refusals))
    return found


def _from_variables(name: str, environment: Mapping[str, str]) -> _Found | None:
    """The value of one setting; an empty variable counts as not set, as in most programs."""
    given = {alias: environment[alias.name] for alias in variables(name) if environment.get(alias.name, "").strip()}
    values = [_check(name, written.strip(), alias) for alias, written in given.items()]
    if not values:
        return None
    names = [alias.name for alias in given]
    if any(value != values[0] for value in values):
        shown_values = "" if is_secret(name) else f" ({' and '.join(repr(written) for written in given.values())})"
        raise BadInput(
            f"{' and '.join(names)} are two names of one setting with different values{shown_values}; keep one of them."
        )
    return _Found(values[0], names[0])


def _check(name: str, written: object, key: Alias) -> Any:
    """The value as the setting's type, or a refusal that names the key as it was written."""
    if name not in Settings.model_fields:
        raise BadInput(f"{key.name} is not a setting{_perhaps(name, Settings.model_fields)}.")
    try:
        return _checker(name).validate_python(_in_unit(written, key.unit) if key.unit else written)
    except (ValueError, OverflowError) as problem:
        shown_value = "the value given" if is_secret(name) else repr(written)
        raise BadInput(f"{key.name} cannot be {shown_value}: it must be {key.allowed or allowed(name)}.") from problem


def _in_unit(written: object, unit: timedelta) -> timedelta:
    return float(str(written)) * unit


@cache
def _checker(name: str) -> TypeAdapter[Any]:
    field = Settings.model_fields[name]
    checked: Any = Annotated[field.annotation, *field.metadata]
    return TypeAdapter(checked)


def _file(environment: Mapping[str, str], folder: Path, home: Path) -> Path | None:
    if named := environment.get("TIDEGATE_CONFIG", "").strip():
        return Path(named).expanduser()  # must exist: somebody asked for it
    candidates = (folder / "tidegate.toml", home / "tidegate.toml")
    return next((candidate for candidate in candidates if candidate.exists()), None)


def _from_file(path: Path) -> dict[str, _Found]:
    found: dict[str, _Found] = {}
    refusals: list[str] = []
    for key, written in _read(path).items():
        try:
            found[key] = _Found(_check(key, written, Alias(f"{key} in {path}")), str(path))
        except BadInput as refusal:
            refusals.append(str(refusal))
    if refusals:
        raise BadInput("\n".join(refusals))
    return found


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as problem:
        raise BadInput(f"TIDEGATE_CONFIG names {path}, which does not exist.") from problem
    except OSError as problem:
        raise BadInput(f"The settings file {path} cannot be read: {problem.strerror}.") from problem
    except UnicodeDecodeError as problem:
        raise BadInput(f"The settings file {path} is not UTF-8 text.") from problem
    except tomllib.TOMLDecodeError as problem:
        raise BadInput(f"The settings file {path} is not valid TOML: {problem}.") from problem


def _unknown_variables(environment: Mapping[str, str]) -> Iterator[str]:
    known = {alias.name for name in Settings.model_fields for alias in variables(name)} | _NOT_SETTINGS
    for name in sorted(environment):
        if name.startswith(PREFIX) and name not in known and not name.startswith(_FOR_TESTS):
            yield f"The variable {name} is not a setting and has no effect{_perhaps(name, known)}."


def _perhaps(word: str, known: Mapping[str, object] | set[str]) -> str:
    near = difflib.get_close_matches(word, list(known), n=1)
    return f" (perhaps {near[0]} was meant)" if near else ""
