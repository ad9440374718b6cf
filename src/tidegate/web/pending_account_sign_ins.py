"""Sign-ins of platform accounts that are in progress on the pages: the open question and its answer.

The platform's sign-in asks its questions as it would at a terminal (``openings.Person``). The page shows the open
question and delivers the answer. A sign-in exists only in this process, for a limited time.
"""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass

import segno
import structlog

from tidegate.app.account_setup import join, rejoin
from tidegate.app.composition import Runtime
from tidegate.core.account import Account, AccountState
from tidegate.core.errors import BadInput, TidegateError

LASTS = 600.0
"""Seconds that a person has from the first question to the last answer."""

SHOWN_FOR = 60.0
"""Seconds that the outcome can be looked at."""

_ANSWERED_WITHIN = 20.0
_AT_ONCE = 20

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class SignInQuestion:
    """A question to the person; *again* is why the last answer was refused."""

    words: str
    hint: str
    hidden: bool
    again: str = ""


@dataclass(frozen=True, slots=True)
class ShownCode:
    """What to do with the phone, and its code: a picture to scan, or characters to type."""

    words: str
    picture: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True)
class SignInOutcome:
    """The result, as a sentence."""

    sentence: str
    joined: bool


class PendingSignIn:
    """One account that is being signed in (``SignInPrompts``); *by_phone* is the phone a code is typed into.

    While there is neither a question nor an outcome, the platform is working, or waits for the person to use what is
    *shown*.
    """

    def __init__(self, account: Account, by_phone: str | None = None) -> None:
        self.account = account
        self._by_phone = by_phone
        self.question: SignInQuestion | None = None
        self.shown: ShownCode | None = None
        self.outcome: SignInOutcome | None = None
        self._answer: asyncio.Future[str] | None = None
        self._moved = asyncio.Event()

    async def token(self) -> str:
        made_at = self.account.platform.tokens_made_at
        if not made_at:
            return await self._ask(SignInQuestion("Token", "", hidden=True))
        return await self._ask(SignInQuestion("Bot token", f"From {made_at}. Never a person's own.", hidden=True))

    async def phone(self) -> str:
        how = "With its country code, such as +44 20 7946 0018."
        return await self._ask(SignInQuestion("Phone number", how, hidden=False))

    async def code(self, sent_to: str, *, again: str) -> str:
        return await self._ask(SignInQuestion("Code", f"It was sent to {sent_to}.", hidden=False, again=again))

    async def password(self, hint: str, *, again: str) -> str:
        about = (
            f"Your hint: {hint}." if hint else f"The one you set at {self.account.platform.brand} for a second step."
        )
        return await self._ask(SignInQuestion("Password", about, hidden=True, again=again))

    async def linked_by(self) -> str | None:
        return self._by_phone

    async def show_qr(self, text: str) -> None:
        picture = segno.make_qr(text).svg_inline(scale=5, border=4, light="#fff")
        self._show(ShownCode(f"Scan this with the phone: {self._device_menu}, Link a device.", picture=picture))

    async def show_code(self, code: str) -> None:
        how = f"Type this code into the phone: {self._device_menu}, Link with phone number."
        self._show(ShownCode(how, code=code))

    @property
    def _device_menu(self) -> str:
        return f"{self.account.platform.brand}, Linked devices"

    def _show(self, shown: ShownCode) -> None:
        self.shown = shown
        self._moved.set()

    def answer(self, text: str) -> None:
        """Answer the open question; without one, another window was quicker."""
        if self._answer is None or self._answer.done():
            raise BadInput("Nothing is asked right now. Load the page again.")
        self._moved.clear()
        self.question = None
        self._answer.set_result(text)

    def end(self, outcome: SignInOutcome) -> None:
        self.question, self.outcome = None, outcome
        self._moved.set()

    async def moved_on(self) -> None:
        """Wait until there is something new to show, or for a while."""
        try:
            async with asyncio.timeout(_ANSWERED_WITHIN):
                await self._moved.wait()
        except TimeoutError:
            return

    async def _ask(self, question: SignInQuestion) -> str:
        self._answer = asyncio.get_running_loop().create_future()
        self.question = question
        self._moved.set()
        return await self._answer


class PendingSignIns:
    """All sign-ins in progress in this process."""

    def __init__(self) -> None:
        self._open: dict[str, PendingSignIn] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, runtime: Runtime, account: Account, by_phone: str | None = None) -> str:
        """Start signing *account* in, with *by_phone* by a code to type there; returns a key for it."""
        if len(self._open) >= _AT_ONCE:
            raise BadInput("Too many accounts are being added at once. Finish one of them first.")
        name = secrets.token_urlsafe(16)
        self._open[name] = PendingSignIn(account, by_phone)
        task = asyncio.create_task(self._hold(name, runtime))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return name

    def find(self, name: str) -> PendingSignIn:
        found = self._open.get(name)
        if found is None:
            raise BadInput("That took too long, or Tidegate was started anew meanwhile. Begin again.")
        return found

    def close(self) -> None:
        """Cancel all sign-ins, because the process ends."""
        for task in self._tasks:
            task.cancel()

    async def _hold(self, name: str, runtime: Runtime) -> None:
        """Run the sign-in to its end; its result stays visible for a while."""
        conversation = self._open[name]
        talking = asyncio.create_task(_talk(conversation, runtime))
        try:
            await asyncio.wait([talking])
            if problem := talking.exception():
                _log.error("account.not_added", account=conversation.account.name, exc_info=problem)
                conversation.end(
                    SignInOutcome("Something went wrong inside Tidegate; its log says what.", joined=False)
                )
            await asyncio.sleep(SHOWN_FOR)
        finally:
            talking.cancel()
            del self._open[name]


async def _talk(conversation: PendingSignIn, runtime: Runtime) -> None:
    account = conversation.account
    try:
        async with asyncio.timeout(LASTS):
            signing_in = join if account.state is AccountState.ACTIVE else rejoin
            me = await signing_in(runtime, account, conversation)
    except TimeoutError:
        conversation.end(SignInOutcome("That took too long, and nothing was stored. Begin again.", joined=False))
    except TidegateError as problem:
        conversation.end(SignInOutcome(str(problem), joined=False))
    else:
        sentence = f'"{account.name}" is signed in as {me.name}. A worker serves it from now on.'
        conversation.end(SignInOutcome(sentence, joined=True))
