"""An account's connection, which is restored whenever it is lost.

A request is sent once. When there is no answer, the error says whether the request was handed over. The lane decides
whether to repeat it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any, TypeVar

import structlog
from telethon.tl import types

from tidegate.core.clock import Clock
from tidegate.core.errors import (
    AskedToWait,
    Banned,
    NotOurs,
    NotSent,
    OutcomeUnknown,
    PlatformError,
    SignedOut,
    TidegateError,
)
from tidegate.core.ids import AccountId, UserId
from tidegate.core.rules.reconnect_pause import reconnect_pause
from tidegate.platforms.connect_timeout import in_time
from tidegate.platforms.interface import BoxUpdates, UpdateHint
from tidegate.platforms.telegram.chats.box_updates import box_update, short_update
from tidegate.platforms.telegram.chats.chat_numbers import ChatNumbers
from tidegate.platforms.telegram.content.people import people_in
from tidegate.platforms.telegram.errors import connect_trouble, trouble
from tidegate.platforms.telegram.pre_send_check import PreSendCheck
from tidegate.platforms.telegram.raw_client import RawTelegramClient, method_of
from tidegate.platforms.telegram.translation import hints_of, updates_in
from tidegate.platforms.update_queue import UpdateQueue, channels_to_check

ANSWER_WITHIN = timedelta(seconds=60)
"""How long an answer may take; Telegram answers or fails within seconds."""

_FIRST_PAUSE = timedelta(seconds=1)
_LONGEST_PAUSE = timedelta(minutes=1)
"""Between tries that do not reach Telegram: they cost the account nothing, and the network may be back at any moment.
"""

T = TypeVar("T")

_log = structlog.get_logger(__name__)

MakeClient = Callable[[Callable[[Any], None], PreSendCheck], RawTelegramClient]
"""Creates a client that is not connected yet. It passes push updates on, and calls the check before anything is sent.
"""


class TelegramConnection:
    """Keeps one account connected until closed. Created by ``open``."""

    def __init__(self, make_client: MakeClient, clock: Clock, account: AccountId) -> None:
        self._make_client = make_client
        self._clock = clock
        self.pre_send_check: PreSendCheck = lambda: None
        self.connection_changed: Callable[[str | None], object] = lambda _: None
        self.box: int | None = None  # the counter of the account's message box, while push updates lead up to it
        self._account = account
        self._client: RawTelegramClient | None = None
        self.user: Any = None  # the identity that Telegram gave us on connecting
        self._closed = False
        self._stopped: SignedOut | Banned | None = None
        self._keeper: asyncio.Task[None] | None = None
        self.updates = UpdateQueue(channels_to_check)

    @classmethod
    async def open(cls, make_client: MakeClient, clock: Clock, account: AccountId) -> TelegramConnection:
        """Connect; raises ``SignedOut`` or ``Banned`` when a person has to act, other errors when a retry may help."""
        made = cls(make_client, clock, account)
        made._client = await made._connect()
        made._keeper = asyncio.create_task(made._keep_connected())
        return made

    async def close(self) -> None:
        """Disconnect for good; may be called more than once."""
        self._closed = True
        self.updates.wake()
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.wait([self._keeper])
        client, self._client = self._client, None
        if client is not None:
            await client.hang_up()

    async def ask(self, request: Any, *, centre: int | None = None, network: int | None = None) -> Any:
        """Send a request and wait for its answer.

        *centre* is the data centre to ask, if not our own; *network* is one of the delivery network.
        """
        self.require_open()
        client = self._client
        if client is None:
            raise NotSent("The connection to Telegram is lost and is being made again; nothing was sent.")
        # Nothing is awaited before the request is queued: the permission to call is valid only for this moment.
        if network is not None:
            hand_over = await self._reached(client.delivery_branch(network), network)
        elif centre in (None, client.session.dc_id):
            hand_over = client.hand_over
        else:
            hand_over = await self._reached(client.branch(centre), centre)
        method = method_of(request)
        try:
            answer = hand_over(request)
        except ConnectionError as problem:
            raise NotSent("The connection to Telegram is lost; nothing was sent.") from problem
        await self._answered(answer, client, method)
        try:
            result = answer.result()
        except TidegateError:  # the last check refused to send it
            raise
        except Exception as problem:
            raise trouble(problem, method) from problem
        client.session.process_entities(result)
        return result

    def require_open(self) -> None:
        """Raise when neither an answer nor a push update will ever come."""
        if self._stopped is not None:
            raise self._stopped.with_traceback(None)
        if self._closed:
            raise NotSent("The connection to Telegram is closed.")

    async def _answered(self, answer: asyncio.Future[Any], client: RawTelegramClient, method: str) -> None:
        """Wait for the answer; raises when it will not come."""
        over = asyncio.ensure_future(self._clock.sleep(ANSWER_WITHIN))
        try:
            await asyncio.wait((answer, over, client.lost), return_when=asyncio.FIRST_COMPLETED)
            if answer.done() and not answer.cancelled():
                return
        finally:
            late = over.done()
            over.cancel()
            answer.cancel()  # has no effect on a connection that exists
        if late:
            raise OutcomeUnknown(f"Telegram did not answer {method} within {ANSWER_WITHIN.total_seconds():.0f} s.")
        raise OutcomeUnknown(f"The connection to Telegram was lost before {method} was answered.")

    async def web_file_centre(self) -> int:
        """The data centre with Telegram's copies of pictures on other sites."""
        self.require_open()
        client = self._client
        if client is None:
            raise NotSent("The connection to Telegram is lost and is being made again; nothing was sent.")
        return await self._reached(client.web_file_centre(), 0)

    async def _reached(self, reaching: Coroutine[Any, Any, T], centre: int) -> T:
        """What another data centre is reached by, for the files stored there."""
        try:
            return await in_time(reaching, self._clock)
        except TidegateError:
            raise
        except Exception as problem:
            raise NotSent(
                f"Telegram's data centre {centre} could not be reached ({type(problem).__name__})."
            ) from problem

    # Staying connected

    async def _connect(self) -> RawTelegramClient:
        self.pre_send_check()
        client = self._make_client(self._take_push, self._check_owner)
        try:
            await in_time(client.connect(), self._clock)
        except TidegateError:
            await client.hang_up()
            raise
        except Exception as problem:
            await client.hang_up()
            raise connect_trouble(problem, client.place) from problem
        except asyncio.CancelledError:
            await client.hang_up()
            raise
        if client.user is None:
            await client.hang_up()
            raise SignedOut("This account is not signed in to Telegram.")
        client.lost = client.disconnected
        self.user = client.user
        return client

    def _check_owner(self) -> None:
        """The check of the current owner: a client may be older than its lane."""
        self.pre_send_check()

    async def _keep_connected(self) -> None:
        """Restore the connection whenever it is lost, with a longer pause after each failed or short connection."""
        pause = timedelta()
        while self._stopped is None:
            client, begun = self._client, self._clock.ticks()
            assert client is not None
            await asyncio.wait([client.lost])
            pause = reconnect_pause(pause, held_for=timedelta(seconds=self._clock.ticks() - begun))
            _log.info("telegram.connection_lost", why=repr(client.lost.exception()), next_try_in=str(pause))
            self._client = self.box = None
            self.connection_changed("The connection to Telegram is lost; it is being made again.")
            await client.hang_up()
            await self._clock.sleep(pause)
            pause = await self._connect_again(pause)
            if self._client is not None:
                self.connection_changed(None)
                self.updates.add(UpdateHint(None))  # push updates in between are missing

    async def _connect_again(self, pause: timedelta) -> timedelta:
        """Connect; *pause* is the last pause made. Returns the pause before the try that succeeded."""
        while self._client is None and self._stopped is None:
            try:
                self._client = await self._connect()
            except (SignedOut, Banned) as stop:
                self._stopped = stop
                self.updates.wake()
            except NotOurs:  # this worker may not connect now; it may again when the claim is renewed
                await self._clock.sleep(_FIRST_PAUSE)
            except PlatformError as problem:
                self.connection_changed(str(problem))
                _log.warning("telegram.not_connected", problem=str(problem))
                pause = reconnect_pause(pause, held_for=timedelta(), longest=max(pause, _LONGEST_PAUSE))
                await self._clock.sleep(problem.pause if isinstance(problem, AskedToWait) else pause)
        return pause

    @property
    def chats(self) -> ChatNumbers:
        """The numbers of the account's private chats."""
        return ChatNumbers(self._account, UserId(self.user.id))

    def _take_push(self, pushed: Any) -> None:
        if self.user is None:  # still connecting: the follower of the box first asks for its state
            return
        if isinstance(pushed, types.UpdatesTooLong):
            self.box = None
        for hint in (*hints_of(pushed, self.chats.of_any), *self._box_hints(pushed)):
            self.updates.add(hint)

    def _box_hints(self, pushed: Any) -> list[UpdateHint]:
        """Updates of the box in what was pushed. Telethon queues the answers to own sends too, where they change it.

        The short form of those lacks the message, so it is a gap, which a difference fills.
        """
        if isinstance(pushed, types.UpdateShortSentMessage):
            self.box = None
            return [UpdateHint(None, box=BoxUpdates(pushed.pts, 0))]
        found = [] if (short := short_update(pushed, self.chats)) is None else [short]
        people = people_in(pushed)
        found += [box for one in updates_in(pushed) if (box := box_update(one, people, self.chats)) is not None]
        for one in found:
            self._follow_box(one.upto, one.steps)
        return [UpdateHint(None, box=one) for one in found]

    def compare_box(self, upto: int) -> None:
        """An answer says how far the box is. Beyond what was pushed, something was lost or is still on its way."""
        if self.box is not None and upto > self.box:
            self.box = None

    def _follow_box(self, upto: int, steps: int) -> None:
        """Move the known counter; after a gap nothing is known until Telegram is asked."""
        if self.box is not None and upto > self.box:
            self.box = upto if upto - steps == self.box else None
