"""Sign-ins to platforms under way: what is asked, and what a person answered on the page.

The platform's own code asks its questions as it would at a terminal (``openings.Person``); the page shows the question
that is open and brings the answer. A conversation lives in this process alone, for as long as a person may take.
"""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass

import segno
import structlog

from tidegate.app import House
from tidegate.errors import BadInput, TidegateError
from tidegate.joining import join, rejoin
from tidegate.words import Account, AccountState

LASTS = 600.0
"""Seconds that a person has from the first question to the last answer."""

SHOWN_FOR = 60.0
"""Seconds that the outcome can be looked at."""

_ANSWERED_WITHIN = 20.0
_AT_ONCE = 20

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Question:
    """What a person is asked; *again* is why the last answer would not do."""

    words: str
    hint: str
    hidden: bool
    again: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """What a person does with the phone, and the code it takes: a picture to scan, or signs to type."""

    words: str
    picture: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How it ended, in a sentence."""

    sentence: str
    joined: bool


class Conversation:
    """One account that is being signed in (``openings.Person``); *by_phone* is the phone a WhatsApp code is typed into.

    While there is neither a question nor an outcome, the platform is at work, or waits for what is *shown* to be done.
    """

    def __init__(self, account: Account, by_phone: str | None = None) -> None:
        self.account = account
        self._by_phone = by_phone
        self.question: Question | None = None
        self.shown: Shown | None = None
        self.outcome: Outcome | None = None
        self._answer: asyncio.Future[str] | None = None
        self._moved = asyncio.Event()

    async def token(self) -> str:
        where = "From discord.com/developers/applications, under Bot. Never a person's own."
        return await self._ask(Question("Bot token", where, hidden=True))

    async def phone(self) -> str:
        how = "With its country code, such as +44 20 7946 0018."
        return await self._ask(Question("Phone number", how, hidden=False))

    async def code(self, sent_to: str, *, again: str) -> str:
        return await self._ask(Question("Code", f"It was sent to {sent_to}.", hidden=False, again=again))

    async def password(self, hint: str, *, again: str) -> str:
        about = f"Your hint: {hint}." if hint else "The one you set at Telegram for a second step."
        return await self._ask(Question("Password", about, hidden=True, again=again))

    async def linked_by(self) -> str | None:
        return self._by_phone

    async def show_qr(self, text: str) -> None:
        picture = segno.make_qr(text).svg_inline(scale=5, border=4, light="#fff")
        self._show(Shown("Scan this with the phone: WhatsApp, Linked devices, Link a device.", picture=picture))

    async def show_code(self, code: str) -> None:
        self._show(Shown("Type this code into the phone: WhatsApp, Linked devices, Link with phone number.", code=code))

    def _show(self, shown: Shown) -> None:
        self.shown = shown
        self._moved.set()

    def answer(self, text: str) -> None:
        """Bring the answer to the open question; when there is none, somebody else was quicker."""
        if self._answer is None or self._answer.done():
            raise BadInput("Nothing is asked right now. Load the page again.")
        self._moved.clear()
        self.question = None
        self._answer.set_result(text)

    def end(self, outcome: Outcome) -> None:
        self.question, self.outcome = None, outcome
        self._moved.set()

    async def moved_on(self) -> None:
        """Wait until there is something new to show, or for a while."""
        try:
            async with asyncio.timeout(_ANSWERED_WITHIN):
                await self._moved.wait()
        except TimeoutError:
            return

    async def _ask(self, question: Question) -> str:
        self._answer = asyncio.get_running_loop().create_future()
        self.question = question
        self._moved.set()
        return await self._answer


class Conversations:
    """All that are under way in this process."""

    def __init__(self) -> None:
        self._open: dict[str, Conversation] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, house: House, account: Account, by_phone: str | None = None) -> str:
        """Start signing *account* in, with *by_phone* by a code to type there; returns the conversation's name."""
        if len(self._open) >= _AT_ONCE:
            raise BadInput("Too many accounts are being added at once. Finish one of them first.")
        name = secrets.token_urlsafe(16)
        self._open[name] = Conversation(account, by_phone)
        task = asyncio.create_task(self._hold(name, house))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return name

    def find(self, name: str) -> Conversation:
        found = self._open.get(name)
        if found is None:
            raise BadInput("That took too long, or Tidegate was started anew meanwhile. Begin again.")
        return found

    def close(self) -> None:
        """Give up what is under way, because the process ends."""
        for task in self._tasks:
            task.cancel()

    async def _hold(self, name: str, house: House) -> None:
        """Talk to the end, whatever it is; then the outcome can be looked at for a while."""
        conversation = self._open[name]
        talking = asyncio.create_task(_talk(conversation, house))
        try:
            await asyncio.wait([talking])
            if problem := talking.exception():
                _log.error("account.not_added", account=conversation.account.name, exc_info=problem)
                conversation.end(Outcome("Something went wrong inside Tidegate; its log says what.", joined=False))
            await asyncio.sleep(SHOWN_FOR)
        finally:
            talking.cancel()
            del self._open[name]


async def _talk(conversation: Conversation, house: House) -> None:
    account = conversation.account
    try:
        async with asyncio.timeout(LASTS):
            signing_in = join if account.state is AccountState.ACTIVE else rejoin
            me = await signing_in(house, account, conversation)
    except TimeoutError:
        conversation.end(Outcome("That took too long, and nothing was stored. Begin again.", joined=False))
    except TidegateError as problem:
        conversation.end(Outcome(str(problem), joined=False))
    else:
        sentence = f'"{account.name}" is signed in as {me.name}. A worker serves it from now on.'
        conversation.end(Outcome(sentence, joined=True))
