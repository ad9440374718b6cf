"""Sign-ins of platform accounts that are in progress on the pages: the open question and its answer.

The platform's sign-in asks its questions as it would at a terminal (``SignInPrompts``). The page shows the open
question and delivers the answer. What was wrong is asked again, with what was typed. A sign-in exists only in this
process, for a limited time.
"""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass, field
from datetime import timedelta

import segno
import structlog

from tidegate.accounts.queries import accounts
from tidegate.app.account_setup import join, rejoin
from tidegate.app.composition import Runtime
from tidegate.core.account import Account, AccountState
from tidegate.core.clock import SystemClock
from tidegate.core.errors import BadInput, NotThere, TidegateError
from tidegate.core.rules.outgoing_proxy import ProxyAddress
from tidegate.workers.command_client import ask_owner

LASTS = 600.0
"""Seconds that a person has from the first question to the last answer."""

SHOWN_FOR = 600.0
"""Seconds that the outcome can be looked at, and a failed sign-in be tried again."""

LISTED_WITHIN = timedelta(minutes=5)
"""How long the page waits for the first list of channels and groups."""

_ANSWERED_WITHIN = 20.0
_AT_ONCE = 20

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class SignInQuestion:
    """A question to the person."""

    words: str
    hint: str
    kind: str = "text"  # the type of the input
    again: str = ""  # why the last answer was refused
    typed: str = ""  # what the last answer was
    autocomplete: str = "off"  # what a browser may fill in


@dataclass(frozen=True, slots=True)
class ShownCode:
    """What to do with the phone: scan the picture, or type the code."""

    words: str
    picture: str = ""
    code: str = ""
    until: float | None = None  # when the platform shows the next one, in ticks
    trouble: str = ""  # why one before was refused

    @property
    def seconds_left(self) -> int | None:
        return None if self.until is None else max(0, round(self.until - SystemClock().ticks()))


@dataclass(frozen=True, slots=True)
class SignInOutcome:
    """The result, as a sentence. *found* is how many channels and groups were listed, while *is_listing* not yet."""

    sentence: str
    joined: bool
    is_listing: bool = False
    found: int | None = None


@dataclass(frozen=True, slots=True)
class SignInStart:
    """What a person chose before the first question: the account, its proxy, and the phone that a code is typed into.

    *by_phone* is None for a code to scan, and empty where the number is still to be asked for.
    """

    account: Account
    proxy: ProxyAddress | None = None
    by_phone: str | None = None


@dataclass
class PendingSignIn:
    """One account that is being signed in (``SignInPrompts``).

    While there is neither a question nor an outcome, the platform is working, or waits for the person to use what is
    *shown*. *version* grows with each change of what is to be seen.
    """

    start: SignInStart
    question: SignInQuestion | None = None
    shown: ShownCode | None = None
    outcome: SignInOutcome | None = None
    version: int = 0
    answered: bool = False
    """Whether the person gave an answer since the sign-in began or was refused."""
    _by_phone: str | None = None
    _trouble: str = ""
    _phone_typed: str = ""
    _codes_shown: int = 0
    _answer: asyncio.Future[str] | None = None
    _moved: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self._by_phone = self.start.by_phone

    @property
    def account(self) -> Account:
        return self.start.account

    @property
    def is_by_phone(self) -> bool:
        """Whether a code is typed into the phone, where one could also be scanned."""
        return self._by_phone is not None

    async def token(self) -> str:
        made_at = self.account.platform.tokens_made_at
        words, hint = ("Bot token", f"From {made_at}. Never a person's own.") if made_at else ("Token", "")
        return await self._ask(SignInQuestion(words, hint, kind="password", again=self._take_trouble()))

    async def phone(self) -> str:
        return await self._ask_phone("With its country code, such as +44 20 7946 0018.")

    async def code(self, sent_to: str, *, again: str) -> str:
        hint = f"We sent a code to {sent_to}."
        return await self._ask(SignInQuestion("Code", hint, again=again, autocomplete="one-time-code"))

    async def password(self, hint: str, *, again: str) -> str:
        known = f" Your hint: {hint}." if hint else ""
        about = f"Your {self.account.platform.brand} two-step verification password.{known}"
        return await self._ask(SignInQuestion("Password", about, kind="password", again=again))

    async def linked_by(self) -> str | None:
        if self._by_phone == "" or (self._by_phone and self._trouble):
            self._by_phone = await self._ask_phone(
                "Of the phone you type the code into, with its country code, such as +62 812 3456 7890."
            )
        self.answered |= bool(self._by_phone)
        return self._by_phone

    async def show_qr(self, text: str) -> None:
        first, others = self.account.platform.scan_codes_last
        lasts = others if self._codes_shown else first
        self._codes_shown += 1
        picture = segno.make_qr(text).svg_inline(scale=1, border=4, light="#fff", omitsize=True)
        words = f"Scan this code with your phone: {self._device_menu}, Link a device."
        until = SystemClock().ticks() + lasts if lasts else None
        self._show(ShownCode(words, picture=picture, until=until, trouble=self._take_trouble()))

    async def show_code(self, code: str) -> None:
        how = f"Type this code into your phone: {self._device_menu}, Link with phone number."
        self._show(ShownCode(how, code=code, trouble=self._take_trouble()))

    def answer(self, text: str) -> None:
        """Answer the open question; without one, another window was quicker."""
        if self._answer is None or self._answer.done():
            raise BadInput("Nothing is asked right now. Reload the page.")
        self._moved.clear()
        self.question, self.answered = None, True
        self.version += 1
        self._answer.set_result(text)

    def refuse(self, sentence: str) -> None:
        """Begin with the first question again, and say why."""
        self.answered, self._trouble, self.shown = False, sentence, None

    def restart(self, by_phone: str | None) -> None:
        """Begin from the start, with a code to type (*by_phone*) or to scan."""
        self.question = self.shown = self.outcome = self._answer = None
        self.answered, self._trouble, self._codes_shown, self._by_phone = False, "", 0, by_phone
        self._moved.clear()
        self.version += 1

    def end(self, outcome: SignInOutcome) -> None:
        self.question, self.outcome = None, outcome
        self._changed()

    async def moved_on(self) -> None:
        """Wait until there is something new to show, or for a while."""
        try:
            async with asyncio.timeout(_ANSWERED_WITHIN):
                await self._moved.wait()
        except TimeoutError:
            return

    @property
    def _device_menu(self) -> str:
        return f"{self.account.platform.brand}, Linked devices"

    def _show(self, shown: ShownCode) -> None:
        self.shown = shown
        self._changed()

    def _changed(self) -> None:
        self.version += 1
        self._moved.set()

    def _take_trouble(self) -> str:
        trouble, self._trouble = self._trouble, ""
        return trouble

    async def _ask_phone(self, hint: str) -> str:
        question = SignInQuestion(
            "Phone number", hint, kind="tel", again=self._take_trouble(), typed=self._phone_typed, autocomplete="tel"
        )
        self._phone_typed = await self._ask(question)
        return self._phone_typed

    async def _ask(self, question: SignInQuestion) -> str:
        self._answer = asyncio.get_running_loop().create_future()
        self.question = question
        self._changed()
        return await self._answer


class PendingSignIns:
    """All sign-ins in progress in this process."""

    def __init__(self) -> None:
        self._open: dict[str, PendingSignIn] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def begin(self, runtime: Runtime, start: SignInStart) -> str:
        """Start signing an account in; returns a key for it."""
        if sum(one.outcome is None for one in self._open.values()) >= _AT_ONCE:
            raise BadInput("Too many accounts are being added at once. Finish one of them first.")
        name = secrets.token_urlsafe(16)
        self._open[name] = PendingSignIn(start)
        self._tasks[name] = asyncio.create_task(self._hold(name, runtime, None))
        return name

    def restart(self, name: str, runtime: Runtime, by_phone: str | None) -> PendingSignIn:
        """Sign the same account in from the start, by a code to type or to scan."""
        found = self.find(name)
        if found.outcome is not None and found.outcome.joined:
            raise BadInput(f'"{found.account.name}" is connected already.')
        before = self._tasks[name]
        before.cancel()
        found.restart(by_phone)
        self._tasks[name] = asyncio.create_task(self._hold(name, runtime, before))
        return found

    def find(self, name: str) -> PendingSignIn:
        found = self._open.get(name)
        if found is None:
            raise BadInput("That took too long, or Tidegate was started anew meanwhile. Begin again.")
        return found

    def close(self) -> None:
        """Cancel all sign-ins, because the process ends."""
        for task in self._tasks.values():
            task.cancel()

    async def _hold(self, name: str, runtime: Runtime, before: asyncio.Task[None] | None) -> None:
        """Run the sign-in to its end, after the one *before* has ended; its result stays visible for a while."""
        conversation = self._open[name]
        if before is not None:
            await asyncio.wait([before])
        talking = asyncio.create_task(_talk(conversation, runtime))
        try:
            await asyncio.wait([talking])
            if problem := talking.exception():
                _log.error("account.not_added", account=conversation.account.name, exc_info=problem)
                conversation.end(
                    SignInOutcome("Something went wrong inside Tidegate; its log says what.", joined=False)
                )
            await asyncio.sleep(SHOWN_FOR)
        except asyncio.CancelledError:
            talking.cancel()
            await asyncio.wait([talking])
            raise
        del self._open[name], self._tasks[name]


async def _talk(conversation: PendingSignIn, runtime: Runtime) -> None:
    account = conversation.account
    try:
        async with asyncio.timeout(LASTS):
            called = await _sign_in(conversation, runtime)
    except TimeoutError:
        conversation.end(SignInOutcome("That took too long, and nothing was stored. Try again.", joined=False))
    except TidegateError as problem:
        conversation.end(SignInOutcome(str(problem), joined=False))
    else:
        sentence = f'"{account.name}" is signed in as {called}.'
        if account.state is AccountState.ACTIVE:
            conversation.end(SignInOutcome(sentence, joined=True, is_listing=True))
            found = await _list_channels(account.name, runtime)
            conversation.end(SignInOutcome(sentence, joined=True, found=found))
        else:
            conversation.end(SignInOutcome(sentence, joined=True))


async def _sign_in(conversation: PendingSignIn, runtime: Runtime) -> str:
    """Who it is on its platform; what a person answered wrongly is asked again."""
    account = conversation.account
    while True:
        try:
            if account.state is AccountState.ACTIVE:
                return (await join(runtime, account, conversation, proxy=conversation.start.proxy)).name
            return (await rejoin(runtime, account, conversation)).name
        except BadInput as problem:
            if not conversation.answered:
                raise
            conversation.refuse(str(problem))


async def _list_channels(name: str, runtime: Runtime) -> int | None:
    """Have the worker of a new account list what it can see; returns how much, None when no worker answered."""
    try:
        async with runtime.database.connection() as connection:
            account = (await accounts.find(connection, name)).account
    except NotThere:  # it was removed at once
        return None
    answer = await ask_owner(runtime.database, account.id, "sync", {}, within=LISTED_WITHIN)
    return None if answer is None or answer.error is not None else int(answer.result["channels"])
