"""Saved lists of groups as ``tidegate reminder targets`` and the API tell them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidegate.store.target_lists import Member, SavedList


@dataclass(frozen=True, kw_only=True)
class TargetListRow:
    """A saved list with the titles of its groups."""

    name: str
    groups: list[str]


@dataclass(frozen=True, kw_only=True)
class TargetListSummary:
    """A saved list among others: how many groups it has, and the names of the reminders that go to it."""

    id: int
    name: str
    groups: int
    reminders: list[str]


@dataclass(frozen=True, kw_only=True)
class MemberRow:
    """A group on a list; *state* is ``ok`` unless it is gone or cannot be read."""

    title: str
    platform: str
    number: int
    state: str


@dataclass(frozen=True, kw_only=True)
class TargetListShown:
    """A saved list with its groups by title, and the names of the reminders that go to it."""

    id: int
    name: str
    groups: list[MemberRow]
    reminders: list[str]


def target_list_row(saved: SavedList, members: Sequence[Member]) -> TargetListRow:
    """A saved list as the command prints it."""
    return TargetListRow(name=saved.name, groups=[one.title for one in members])


def target_list_summary(saved: SavedList) -> TargetListSummary:
    """A saved list among others."""
    return TargetListSummary(id=saved.id, name=saved.name, groups=saved.size, reminders=list(saved.reminders))


def target_list_shown(saved: SavedList, members: Sequence[Member]) -> TargetListShown:
    """A saved list on its own."""
    rows = [MemberRow(title=one.title, platform=one.platform, number=one.number, state=one.state) for one in members]
    return TargetListShown(id=saved.id, name=saved.name, groups=rows, reminders=list(saved.reminders))
