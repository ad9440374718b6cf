"""A person's full profile, which some clients ask for to learn who they are."""

from __future__ import annotations

from telethon.tl import types

from tidegate.loopback.telegram import tl_shapes
from tidegate.loopback.telegram.method_context import Answer, Method, Refusal, Request


def get_full_user(request: Request) -> Answer:
    """The profile of an account of this world: nobody here has a description, a photo or shared chats."""
    viewer, asked = request.account, request.query.id
    number = viewer.id if isinstance(asked, types.InputUserSelf) else getattr(asked, "user_id", 0)
    account = request.world.accounts.get(number)
    if account is None:
        raise Refusal(400, "USER_ID_INVALID")
    profile = types.UserFull(
        account.id,
        settings=types.PeerSettings(),
        notify_settings=types.PeerNotifySettings(),
        common_chats_count=0,
    )
    return types.users.UserFull(profile, chats=[], users=[tl_shapes.user(account, is_self=account is viewer)])


METHODS: dict[str, Method] = {
    "users.getFullUser": get_full_user,
}
