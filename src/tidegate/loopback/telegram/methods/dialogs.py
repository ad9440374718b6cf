"""What an account can see: its dialogs, and the gate, one call that shows whether any of many channels changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from telethon import utils
from telethon.tl import types

from tidegate.loopback.faults import FaultKind
from tidegate.loopback.telegram import tl_shapes
from tidegate.loopback.telegram.method_context import Answer, Method, Refusal, Request
from tidegate.loopback.telegram.methods.messages import page_size
from tidegate.loopback.telegram.methods.sign_in import state
from tidegate.loopback.telegram.world.channels import Channel
from tidegate.loopback.telegram.world.private_chats import peer_of


def get_dialogs(request: Request) -> Answer:
    query = request.query
    seen = [channel for channel in _readable(request) if channel.archived == (query.folder_id == 1)]
    page = _after(seen, query)[: page_size(request, query.limit)]
    parts = _parts(request, page)
    if len(page) == len(seen):
        return types.messages.Dialogs(**parts)
    return types.messages.DialogsSlice(count=len(seen), **parts)


def get_pinned_dialogs(request: Request) -> Answer:
    return types.messages.PeerDialogs(**_parts(request, []), state=state(request))


def get_peer_dialogs(request: Request) -> Answer:
    """The gate. Under a fault it repeats its last answer (stale), or leaves a channel out (missing row)."""
    if len(request.query.peers) > request.world.limits.gate_peers:
        raise Refusal(400, "PEERS_LIST_TOO_LONG")
    asked = [request.channel(peer) for peer in request.query.peers]
    if fault := request.struck(FaultKind.MISSING_ROW):
        left_out = fault.channel or asked[0].id
        asked = [channel for channel in asked if channel.id != left_out]
    return types.messages.PeerDialogs(**_parts(request, asked), state=state(request))


def get_channels(request: Request) -> Answer:
    chats = []
    for named in request.query.id:
        channel = request.channel(named)
        chats.append(tl_shapes.chat(request.world, channel, request.account))
    return types.messages.Chats(chats)


def get_full_channel(request: Request) -> Answer:
    """A channel with its description."""
    world, viewer, channel = request.world, request.account, request.channel(request.query.channel)
    full = types.ChannelFull(
        channel.id,
        channel.about,
        read_inbox_max_id=0,
        read_outbox_max_id=0,
        unread_count=0,
        chat_photo=types.PhotoEmpty(0),
        notify_settings=types.PeerNotifySettings(),
        bot_info=[],
        pts=channel.pts,
        participants_count=len(channel.members),
        pinned_msg_id=max((held.id for held in channel.messages.values() if held.fields.get("pinned")), default=None),
    )
    return types.messages.ChatFull(full, tl_shapes.chats(world, channel, viewer), tl_shapes.users(world, viewer))


def _readable(request: Request) -> list[Channel]:
    """Newest first, as clients show them."""
    channels = [channel for channel in request.world.channels.values() if request.account.id in channel.members]
    channels += request.world.chats.of(request.account.id)
    return sorted(channels, key=_order, reverse=True)


def _order(channel: Channel) -> tuple[int, int]:
    """By whole seconds, which is all that an offset can name; the id breaks a tie."""
    newest = channel.messages.get(channel.top)
    return int((newest.date if newest else channel.date).timestamp()), channel.id


def _after(channels: Sequence[Channel], query: Any) -> list[Channel]:
    """What follows the offset; the list may have moved meanwhile, so the date decides and the peer breaks a tie."""
    offset = query.offset_date.timestamp() if query.offset_date else 0.0
    if not offset and not query.offset_id:
        return list(channels)
    held = utils.get_peer_id(query.offset_peer)
    peer = next((one.id for one in channels if utils.get_peer_id(peer_of(one)) == held), 0)
    return [channel for channel in channels if _order(channel) < (offset, peer)]


def _parts(request: Request, channels: Sequence[Channel]) -> dict[str, list[object]]:
    world, viewer = request.world, request.account
    dialogs, messages = [], []
    for channel in channels:
        pts, top = channel.pts, channel.top
        if request.struck(FaultKind.STALE):
            pts, top = viewer.gated.get(channel.id, (1, 0))
        viewer.gated[channel.id] = (pts, top)
        dialogs.append(tl_shapes.dialog(channel, pts=pts, top=top))
        messages += tl_shapes.messages(world, channel, [top] if top in channel.messages else [], viewer)
    return {
        "dialogs": dialogs,
        "messages": messages,
        "chats": [one for channel in channels for one in tl_shapes.chats(world, channel, viewer)],
        "users": tl_shapes.users(world, viewer),
    }


METHODS: dict[str, Method] = {
    "messages.getDialogs": get_dialogs,
    "messages.getPinnedDialogs": get_pinned_dialogs,
    "messages.getPeerDialogs": get_peer_dialogs,
    "channels.getChannels": get_channels,
    "channels.getFullChannel": get_full_channel,
}
