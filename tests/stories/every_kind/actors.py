"""What people do in a channel that holds every kind of message, through the control address of the loopback."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import httpx

from tests.stories.every_kind.stored_facts import Facts

EMOJI = ("👍", "🔥", "🎉")
WRITTEN = (0, 19)
"""Discord's types of messages that their author can edit."""


@dataclass
class Actor(ABC):
    """People in one channel of a platform. Each act is chosen at random among those the platform's truth permits."""

    asking: httpx.AsyncClient
    dice: random.Random
    platform: str
    channel: str
    kinds: Sequence[str]

    async def truth(self) -> list[Facts]:
        answer = await self.asking.get(f"/truth/{self.platform}/{self.channel}")
        answer.raise_for_status()
        found: list[Facts] = answer.json()
        return found

    async def happen(self) -> None:
        """Somebody posts, edits, reacts, votes, pins and deletes, in any order."""
        rows = await self.truth()
        acts: list[Callable[[list[Facts]], Awaitable[None]]] = [
            self.post, self.post, self.post, self.edit, self.edit, self.become, self.react, self.react, self.react,
            self.vote, self.vote, self.pin, self.preview, self.number, self.delete,
        ]  # fmt: skip
        gone: set[int] = set()
        for act in self.dice.sample(acts, len(acts)):
            await act([row for row in rows if row["id"] not in gone])
            if act == self.delete:
                gone |= {row["id"] for row in rows} - {row["id"] for row in await self.truth()}

    async def post(self, _: list[Facts]) -> None:
        await self.tell("post", kind=self.dice.choice(self.kinds))

    async def edit(self, rows: list[Facts]) -> None:
        row = self.dice.choice([row for row in rows if self.is_written(row)])
        await self.tell("edit", id=row["id"], text=f"edited {self.dice.random()}")

    async def react(self, rows: list[Facts]) -> None:
        row = self.dice.choice([row for row in rows if self.is_written(row)])
        await self.tell("react", message=row["id"], emoji=self.dice.choice(EMOJI), change=self.dice.randint(1, 3))

    async def delete(self, rows: list[Facts]) -> None:
        """Not the first message, which made the channel."""
        await self.tell("delete", ids=[one["id"] for one in self.dice.sample(rows[1:], 2)])

    # What differs between the platforms

    @abstractmethod
    def is_written(self, row: Facts) -> bool:
        """Whether its author can edit a message."""

    @abstractmethod
    async def become(self, rows: list[Facts]) -> None:
        """A message becomes one of another kind."""

    @abstractmethod
    async def vote(self, rows: list[Facts]) -> None:
        """Somebody votes in a poll."""

    @abstractmethod
    async def pin(self, rows: list[Facts]) -> None:
        """A message is pinned."""

    @abstractmethod
    async def preview(self, rows: list[Facts]) -> None:
        """The preview of a link arrives."""

    @abstractmethod
    async def number(self, rows: list[Facts]) -> None:
        """A number of a message changes that moves no counter."""

    async def tell(self, act: str, **body: Any) -> list[int]:
        answer = await self.asking.post(f"/{self.platform}/{act}", json={"channel": self.channel, **body})
        assert answer.status_code == 200, f"{act} {body}: {answer.text}"
        found: list[int] = answer.json().get("ids", [])
        return found


def _has_poll(row: Facts) -> bool:
    return bool(row["raw"].get("media", {}).get("_") == "MessageMediaPoll")


class TelegramActor(Actor):
    def is_written(self, row: Facts) -> bool:
        return row["raw"]["_"] == "Message"

    async def become(self, rows: list[Facts]) -> None:
        row = self.dice.choice([row for row in rows if self.is_written(row) and not _has_poll(row)])
        kind = self.dice.choice(["photo", "poll", "formatted", "document", "contact", "link"])
        await self.tell("edit", id=row["id"], kind=kind)

    async def vote(self, rows: list[Facts]) -> None:
        polls = [row for row in rows if _has_poll(row)]
        for row in self.dice.sample(polls, min(1, len(polls))):
            options = len(row["raw"]["media"]["poll"]["answers"])
            await self.tell("vote", message=row["id"], option=self.dice.randrange(options))

    async def pin(self, rows: list[Facts]) -> None:
        row = self.dice.choice([row for row in rows if self.is_written(row)])
        await self.tell("pin", message=row["id"], pinned=not row["raw"].get("pinned"))

    async def preview(self, rows: list[Facts]) -> None:
        [number] = await self.tell("post", kind="link_pending")
        await self.tell("preview", message=number)

    async def number(self, rows: list[Facts]) -> None:
        some = self.dice.sample([row["id"] for row in rows if self.is_written(row)], 5)
        await self.tell("view", messages=some, views=self.dice.randrange(9_999), forwards=self.dice.randrange(99))


class DiscordActor(Actor):
    def is_written(self, row: Facts) -> bool:
        return row["raw"]["type"] in WRITTEN and row["poll"] is None and "webhook_id" not in row["raw"]

    async def become(self, rows: list[Facts]) -> None:
        row = self.dice.choice([row for row in rows if self.is_written(row)])
        kind = self.dice.choice(["embed_rich", "files", "component_container", "markdown", "mentions"])
        await self.tell("edit", id=row["id"], kind=kind)

    async def vote(self, rows: list[Facts]) -> None:
        polls = [row for row in rows if row["poll"] is not None and not row["poll"]["finalized"]]
        for row in self.dice.sample(polls, min(1, len(polls))):
            answer = self.dice.choice(row["raw"]["poll"]["answers"])["answer_id"]
            await self.tell("vote", message=row["id"], answer=answer, change=self.dice.choice([1, 2]))

    async def pin(self, rows: list[Facts]) -> None:
        row = self.dice.choice([row for row in rows if self.is_written(row)])
        await self.tell("unpin" if row["pinned_at"] else "pin", message=row["id"])

    async def preview(self, rows: list[Facts]) -> None:
        [number] = await self.tell("post", text="Read https://example.com/kettle")
        signed = "https://cdn.discordapp.com/attachments/1/2/kettle.png?ex=1&is=2&hm=3"
        embed = {"type": "link", "title": "A kettle", "url": "https://a.b", "description": f"{signed} shows it"}
        await self.tell("edit", id=number, raw={"embeds": [embed]})

    async def number(self, rows: list[Facts]) -> None:
        """Reactions are cleared; one emoji, or all of a message."""
        reacted = [row for row in rows if row["reactions"]]
        for row in self.dice.sample(reacted, min(1, len(reacted))):
            emoji = self.dice.choice(list(row["reactions"]))
            await self.tell("unreact", message=row["id"], **self.dice.choice([{"emoji": emoji}, {}]))
