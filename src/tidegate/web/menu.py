"""The menu of the pages: only what the connected platforms need, and how many problems wait on each page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fastapi import Request

from tidegate.app.doctor.status_report import problem_limits
from tidegate.app.setting_sources import LoadedSettings
from tidegate.core.platform import platform_named
from tidegate.database.pool import Connection
from tidegate.problems.local_disk import disk_space
from tidegate.problems.problem import Problem, ProblemKind
from tidegate.problems.problem_list import problems
from tidegate.web.queries import menu_facts


@dataclass(frozen=True, slots=True)
class MenuItem:
    """A page of the menu."""

    title: str
    path: str
    icon: str  # the name of its drawing
    primary: bool = False  # it has its place in the row of a phone


HOME = MenuItem("Home", "/", "home", primary=True)
GROUPS: Mapping[str, tuple[MenuItem, ...]] = {
    "": (HOME,),
    "Library": (
        MenuItem("Search", "/messages", "search", primary=True),
        MenuItem("Channels", "/channels", "channels", primary=True),
        MenuItem("Archives", "/archives", "archives"),
        MenuItem("Storage", "/storage", "storage"),
    ),
    "Sending": (
        MenuItem("Reminders", "/reminders", "reminders", primary=True),
        MenuItem("Sends", "/activity", "sends"),
        MenuItem("Groups & lists", "/reminders/lists", "lists"),
    ),
    "Setup": (
        MenuItem("Accounts", "/accounts", "accounts"),
        MenuItem("Settings & API", "/settings", "settings"),
        MenuItem("Log", "/log", "log"),
    ),
}
"""The pages by group, in the order of the menu; each exists."""

NAVIGATION = tuple((item.title, item.path) for items in GROUPS.values() for item in items)
"""Every page of the menu with its title."""


@dataclass(frozen=True, slots=True)
class ProblemLink:
    """Where a person sees to a kind of problem, and the words of its button; ``{}`` is the problem's subject."""

    page: str
    words: str
    path: str


_ACCOUNT = "/accounts?like={}"
_RUN = "/activity/{}"
LINKS: Mapping[ProblemKind, ProblemLink] = {
    ProblemKind.NO_WORKER: ProblemLink("/log", "See workers", "/log#workers"),
    ProblemKind.ACCOUNT_SIGNED_OUT: ProblemLink("/accounts", "Sign in again", _ACCOUNT),
    ProblemKind.ACCOUNT_BANNED: ProblemLink("/accounts", "See account", _ACCOUNT),
    ProblemKind.ACCOUNT_STOPPED: ProblemLink("/accounts", "Fix it", _ACCOUNT),
    ProblemKind.ACCOUNT_UNREACHABLE: ProblemLink("/accounts", "See account", _ACCOUNT),
    ProblemKind.SENDING_PAUSED: ProblemLink("/activity", "See sends", "/activity"),
    ProblemKind.RUN_NEEDS_ATTENTION: ProblemLink("/activity", "Review", _RUN),
    ProblemKind.RUN_PAUSED: ProblemLink("/activity", "Review", _RUN),
    ProblemKind.RUN_NOT_DELIVERED: ProblemLink("/activity", "See who is left", _RUN),
    ProblemKind.OUTCOME_UNKNOWN: ProblemLink("/activity", "Review", _RUN),
    ProblemKind.ARCHIVES_GIVEN_UP: ProblemLink("/archives", "See and retry", "/archives?state=given_up"),
    ProblemKind.ARCHIVES_FAILED: ProblemLink("/archives", "See why", "/archives?state=failed"),
    ProblemKind.ARCHIVES_WAIT: ProblemLink("/archives", "See archives", "/archives?state=waiting"),
    ProblemKind.FILES_WAIT: ProblemLink("/storage", "See storage", "/storage"),
    ProblemKind.CHANNELS_BEHIND: ProblemLink("/channels", "See channels", "/channels?state=behind"),
    ProblemKind.CHANNELS_UNREADABLE: ProblemLink("/channels", "See channels", "/channels?state=unreadable"),
    ProblemKind.DISK_NEARLY_FULL: ProblemLink("/storage", "See storage", "/storage"),
    ProblemKind.BACKUP_TOO_OLD: ProblemLink("/settings", "How to back up", "/settings#backups"),
    ProblemKind.TOKENS_UNCONFIRMED: ProblemLink("/settings", "Confirm or revoke", "/settings"),
    ProblemKind.DATABASE_UNREACHABLE: ProblemLink("/log", "See log", "/log"),
}
"""Every kind of problem has its page and its button."""


@dataclass(frozen=True, slots=True)
class Menu:
    """The groups of pages that are shown, the number of problems by the path of a page, and the open page."""

    groups: Mapping[str, tuple[MenuItem, ...]]
    counts: Mapping[str, int]
    current: str

    @property
    def row(self) -> tuple[MenuItem, ...]:
        """The pages in the one row of a phone; all the others are under "More"."""
        return tuple(item for items in self.groups.values() for item in items if item.primary)

    @property
    def behind_more(self) -> int:
        """Problems of pages that the row of a phone does not show; those on Home are counted there."""
        return sum(count for path, count in self.counts.items() if path not in {one.path for one in self.row})


async def all_problems(connection: Connection, loaded: LoadedSettings) -> list[Problem]:
    """What needs a person, as ``tidegate status`` says it, with the disk of this machine."""
    settings = loaded.settings
    return [
        *await problems(connection, problem_limits(settings)),
        *disk_space(settings.home).problems(settings.disk_reserve),
    ]


async def menu_of(request: Request, connection: Connection, here: str | None = None) -> Menu:
    """The menu as things are now, for a page at *here*, or at the address of the request."""
    request.state.problems = found = await all_problems(connection, request.app.state.loaded)
    facts = await menu_facts.read(connection)
    current = _page_of(here or request.url.path)
    return Menu(_shown_groups(facts, current), _counts(found), current)


def _page_of(here: str) -> str:
    """The path of the page of the menu that *here* belongs to: the longest one that it begins with."""
    fitting = [path for _, path in NAVIGATION if here == path or (path != HOME.path and here.startswith(path))]
    return max(fitting, key=len, default="")


def _shown_groups(facts: menu_facts.MenuFacts, current: str) -> dict[str, tuple[MenuItem, ...]]:
    """Without an account there is nothing to look at yet, unless something was kept of an earlier one.

    The group of the open page is always shown.
    """
    mirrors = any(platform_named(one).can_be_mirrored for one in facts.platforms) or facts.has_channels
    hidden = {"Library": not mirrors, "Sending": not (facts.platforms or facts.has_reminders)}
    return {
        group: items
        for group, items in GROUPS.items()
        if not hidden.get(group) or current in [item.path for item in items]
    }


def _counts(found: Iterable[Problem]) -> dict[str, int]:
    by_page = Counter(LINKS[one.kind].page for one in found)
    return {**by_page, HOME.path: by_page.total()} if by_page else {}
