"""Who writes in this world without an account here, and the channels it only hears of."""

from __future__ import annotations

from dataclasses import dataclass, field

SOMEBODY = 777_001
"""The author of a message when no other is named."""


@dataclass(slots=True)
class Person:
    """A user of the platform, person or bot; a deleted one keeps its id and nothing else."""

    id: int
    first_name: str
    last_name: str = ""
    usernames: list[str] = field(default_factory=list)
    bot: bool = False
    deleted: bool = False
    premium: bool = False
    photo: int = 0  # the file of the picture, 0 for none

    @property
    def name(self) -> str:
        return f"{self.first_name} {self.last_name}".strip()

    def is_named(self, named: int | str) -> bool:
        """Whether this is its id, its name or one of its usernames, with or without the at sign."""
        return str(named) in {str(self.id), self.name, *self.usernames, *(f"@{one}" for one in self.usernames)}


@dataclass(slots=True)
class OutsideChannel:
    """A channel that is not in this world: forwards, replies and stories come from it."""

    id: int
    title: str
    username: str = ""
