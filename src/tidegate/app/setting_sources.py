"""Where settings come from, strongest first: the environment, a ``tidegate.toml``, the defaults.

Every value keeps its source, so that ``tidegate settings`` can show it and an error can name the key as the operator
wrote it. A file is trusted only when no other user can change it (``trusted_files``). The file in the working folder
may have come with an unpacked archive. So it sets no secret, and nothing that says where secrets go.
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

from tidegate.app.setting_types import Alias, Allowed
from tidegate.app.settings import Settings
from tidegate.core.durations import span_text
from tidegate.core.errors import BadInput
from tidegate.core.files.trusted_files import NotReached, TrustedFile, read_trusted, require_trusted_folder
from tidegate.lanes.rules.slowdown_after_warning import burst_warning

PREFIX = "TIDEGATE_"
DEFAULT = "default"
LEADS_SECRETS = {"home", "web_url", "media_store"}
"""Settings that say where secrets go: key and database lie in *home*, and sign-in links lead to *web_url*.

Files of messages go to *media_store*.
"""

_NAME = "tidegate.toml"
_KIND = "settings file"
_NOT_SETTINGS = {"TIDEGATE_CONFIG", "TIDEGATE_DEBUG"}
_FOR_TESTS = "TIDEGATE_TEST_"


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """The settings, where each value came from, and warnings for the operator."""

    settings: Settings
    sources: Mapping[str, str]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Found:
    value: Any
    source: str


def load(environment: Mapping[str, str] | None = None, *, folder: Path | None = None) -> LoadedSettings:
    """Find and check every setting; *folder* is where a ``tidegate.toml`` is looked for first.

    Raises ``BadInput`` with a sentence for each invalid value, all of one source together.
    """
    environment = os.environ if environment is None else environment
    found = _from_environment(environment)
    home = found["home"].value if "home" in found else Settings().home
    warnings = [*_unknown_variables(environment)]
    if named := environment.get("TIDEGATE_CONFIG", "").strip():
        found = {**_named_file(Path(named).expanduser(), warnings), **found}
    else:
        found = {**_data_file(home, warnings), **_working_file(folder, home, warnings), **found}
    settings = Settings(**{name: finding.value for name, finding in found.items()})
    require_trusted_folder(settings.home, "data folder")
    sources = {name: found[name].source if name in found else DEFAULT for name in Settings.model_fields}
    warnings += [*_without_effect(settings, sources), *filter(None, [burst_warning(settings.send_burst)])]
    return LoadedSettings(settings, sources, tuple(warnings))


def forget_secrets() -> None:
    """Take the secrets out of this process's environment: a library may start a program that gets all of it."""
    for name in filter(is_secret, Settings.model_fields):
        for alias in variables(name):
            os.environ.pop(alias.name, None)


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


def _named_file(path: Path, warnings: list[str]) -> dict[str, _Found]:
    """The values of the file that ``TIDEGATE_CONFIG`` names; it must exist."""
    read = read_trusted(path, _KIND)
    if read is None:
        raise BadInput(f"TIDEGATE_CONFIG names {path}, which does not exist.")
    return _settings_in(read, path, warnings)


def _data_file(home: Path, warnings: list[str]) -> dict[str, _Found]:
    path = home / _NAME
    read = read_trusted(path, _KIND)
    return {} if read is None else _settings_in(read, path, warnings)


def _working_file(folder: Path | None, home: Path, warnings: list[str]) -> dict[str, _Found]:
    """The values of the working folder's file; none where that folder is the data folder, whose file is read anyway."""
    path = (folder or _working_folder()) / _NAME
    if _is_same(path.parent, home):
        return {}
    try:
        read = read_trusted(path, _KIND)
    except NotReached as problem:
        warnings.append(f"{problem} No settings are read there.")
        return {}
    return {} if read is None else _settings_in(read, path, warnings, home=home)


def _working_folder() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError as problem:
        raise BadInput("The working folder was removed. Change to another one, then run this again.") from problem


def _is_same(folder: Path, home: Path) -> bool:
    try:
        return folder.samefile(home)
    except OSError:
        return False  # one of them is missing or closed to this user, and the other is the one we may be in


def _settings_in(file: TrustedFile, path: Path, warnings: list[str], *, home: Path | None = None) -> dict[str, _Found]:
    """The settings in a file, checked; *home* is given for a working folder's file and is where secrets may lie."""
    found: dict[str, _Found] = {}
    refusals: list[str] = []
    for key, written in _parsed(file.content, path).items():
        try:
            if home is not None:
                _refuse_in_working_folder(key, path, home)
            found[key] = _Found(_check(key, written, Alias(f"{key} in {path}")), str(path))
        except BadInput as refusal:
            refusals.append(str(refusal))
    if refusals:
        raise BadInput("\n".join(refusals))
    secrets = [key for key in found if is_secret(key)]
    if secrets and file.open_to_others:
        warnings.append(f"Others may read {path}, which holds {' and '.join(secrets)}. Run: chmod 600 {path}")
    return found


def _refuse_in_working_folder(name: str, path: Path, home: Path) -> None:
    if name in Settings.model_fields and (is_secret(name) or name in LEADS_SECRETS):
        elsewhere = "" if name == "home" else f", or put it into {home / _NAME}"
        raise BadInput(
            f"{name} in {path} is refused: a file of the working folder sets nothing that is secret or says where "
            f"secrets go. Set {variables(name)[0].name} in the environment{elsewhere}."
        )


def _parsed(content: bytes, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(content.decode())
    except UnicodeDecodeError as problem:
        raise BadInput(f"The settings file {path} is not UTF-8 text.") from problem
    except tomllib.TOMLDecodeError as problem:
        raise BadInput(f"The settings file {path} is not valid TOML: {problem}.") from problem


def _unknown_variables(environment: Mapping[str, str]) -> Iterator[str]:
    known = {alias.name for name in Settings.model_fields for alias in variables(name)} | _NOT_SETTINGS
    for name in sorted(environment):
        if name.startswith(PREFIX) and name not in known and not name.startswith(_FOR_TESTS):
            yield f"The variable {name} is not a setting and has no effect{_perhaps(name, known)}."


def _without_effect(settings: Settings, sources: Mapping[str, str]) -> Iterator[str]:
    """Settings that the operator set and that another setting makes ineffective."""
    established = settings.whatsapp_established_sends_per_minute
    if sources["max_send_per_minute"] != DEFAULT and settings.max_send_per_minute > established:
        yield (
            f"max_send_per_minute is {settings.max_send_per_minute}, but WhatsApp accounts send at most {established} "
            "a minute: raise whatsapp_established_sends_per_minute too if the number can take it."
        )


def _perhaps(word: str, known: Mapping[str, object] | set[str]) -> str:
    near = difflib.get_close_matches(word, list(known), n=1)
    return f" (perhaps {near[0]} was meant)" if near else ""
