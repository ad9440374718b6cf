"""The JSON documents of saved lists of groups, for ``tidegate reminder targets`` and the API."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidegate.core.ids import ChannelId, TargetListId
from tidegate.reminders.queries.target_lists import ListMember, SavedList


@dataclass(frozen=True, kw_only=True)
class TargetListRow:
    """A saved list with the titles of its groups."""

    name: str
    groups: list[str]


@dataclass(frozen=True, kw_only=True)
class TargetListSummary:
    """A saved list among others: how many groups it has, and the names of the reminders that go to it."""

    id: TargetListId
    name: str
    groups: int
    reminders: list[str]


@dataclass(frozen=True, kw_only=True)
class MemberRow:
    """A group on a list; *state* is ``ok`` unless it is gone or cannot be read."""

    title: str
    platform: str
    number: ChannelId
    state: str


@dataclass(frozen=True, kw_only=True)
class TargetListShown:
    """A saved list with its groups in natural order, and the names of the reminders that go to it.

    *next* is how many groups to skip for those that follow, and null with the last ones.
    """

    id: TargetListId
    name: str
    groups: list[MemberRow]
    reminders: list[str]
    next: int | None


def target_list_row(saved: SavedList, members: Sequence[ListMember]) -> TargetListRow:
    """A saved list as the command prints it."""
    return TargetListRow(name=saved.name, groups=[one.title for one in members])


def target_list_summary(saved: SavedList) -> TargetListSummary:
    """A saved list among others."""
    return TargetListSummary(id=saved.id, name=saved.name, groups=saved.size, reminders=list(saved.reminders))


def target_list_shown(saved: SavedList, members: Sequence[ListMember], *, skipped: int = 0) -> TargetListShown:
    """A saved list with those of its groups that come after the first *skipped*."""
    shown_so_far = skipped + len(members)
    rows = [MemberRow(title=one.title, platform=one.platform, number=one.number, state=one.state) for one in members]
    return TargetListShown(
        id=saved.id,
        name=saved.name,
        groups=rows,
        reminders=list(saved.reminders),
        next=shown_so_far if shown_so_far < saved.size else None,
    )
