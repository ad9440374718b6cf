"""Sign-in of an account: a person scans a code with the phone, or types one there."""

from __future__ import annotations

from contextlib import aclosing

from tidegate.core.clock import Clock
from tidegate.core.errors import PlatformError
from tidegate.platforms.interface import DevicePrompts, Me, SignInAttempt
from tidegate.platforms.whatsapp.connector import WhatsAppSessionStore
from tidegate.platforms.whatsapp.device_link import LinkedPhone, pair


async def sign_in(
    attempt: SignInAttempt, questions: DevicePrompts, *, sessions: WhatsAppSessionStore, clock: Clock
) -> Me:
    """Link an account to a phone and store its device's address in the vault; the library stores the device's keys."""
    steps = pair(attempt, sessions, clock=clock, phone=await questions.linked_by())
    async with aclosing(steps):
        async for step in steps:
            if isinstance(step, LinkedPhone):
                return step.me
            await (questions.show_code(step.text) if step.is_typed else questions.show_qr(step.text))
    raise PlatformError("The account was not linked. Try again.")
