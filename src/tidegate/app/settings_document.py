"""The JSON document of settings, for ``tidegate settings`` and the API; of a secret only that it is set."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.app.setting_sources import LoadedSettings, shown
from tidegate.app.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingRow:
    """A setting: its value as it would be written, where the value came from, and what it means."""

    setting: str
    value: str | int | float | bool | None
    source: str
    meaning: str | None


def setting_rows(loaded: LoadedSettings) -> list[SettingRow]:
    """Every setting, in the order of the documentation."""
    return [
        SettingRow(
            setting=name,
            value=shown(getattr(loaded.settings, name)),
            source=loaded.sources[name],
            meaning=field.description,
        )
        for name, field in Settings.model_fields.items()
    ]
