"""What a message carries beside its text: its kind, and the details of it by plain names.

| kind | details |
|---|---|
| photo | self_destructs_after |
| video, round video, animation | duration, width, height, starts_at, self_destructs_after |
| voice, audio | duration, title, performer, self_destructs_after |
| sticker | emoji, set, mask |
| contact | phone, first_name, last_name, vcard, person |
| location | latitude, longitude, accuracy |
| live location | those of a location, and lasts_for, heading, alert_within |
| venue | those of a location, and title, address, provider, venue, venue_type |
| dice | emoji, value |
| game | title, description, short_name |
| invoice | title, description, currency, amount, test, shipping, receipt |
| paid media | stars, items |
| giveaway | winners, until, months, stars, prize, countries, channels, channel_names, new_subscribers, winners_public |
| giveaway results | winners, winner_names, winner_count, unclaimed, until, months, stars, prize, channel, launch, |
| | additional_channels, new_subscribers, refunded |
| story | story, owner, owner_name, caption, mention, gone |
| to-do list | title, items (key, text, done_by, done_by_name, done_at), others_can_add, others_can_complete |
| live stream | external |

Durations are in seconds, lengths in metres, times in ISO 8601, amounts in a currency's smallest unit. People and
channels are marked numbers. What is false, empty or absent is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from telethon.tl import types

from tidegate.core.ids import UserId
from tidegate.core.message_content import MessageKind
from tidegate.platforms.telegram.content.people import People, marked_channel, marked_number, name_of
from tidegate.platforms.telegram.content.raw_message import encoded

Details = Mapping[str, Any]
DetailsOf = Callable[[Any, People], Details]


def _from(names: Mapping[str, str]) -> DetailsOf:
    """Details that are read off the fields of the media, each under its own name."""
    return lambda media, people: {name: getattr(media, field) for name, field in names.items()}


def _photo(media: Any, people: People) -> Details:
    return {"self_destructs_after": media.ttl_seconds}


def _document(media: Any, people: People) -> Details:
    if media.document is None:
        return {"self_destructs_after": media.ttl_seconds}
    found: dict[str, Any] = {}
    for one in getattr(media.document, "attributes", ()):
        if isinstance(one, types.DocumentAttributeVideo):
            found |= {"duration": one.duration, "width": one.w, "height": one.h}
        elif isinstance(one, types.DocumentAttributeAudio):
            found |= {"duration": one.duration, "title": one.title, "performer": one.performer}
        elif isinstance(one, types.DocumentAttributeSticker | types.DocumentAttributeCustomEmoji):
            found |= {"emoji": one.alt, "set": _set(one.stickerset), "mask": getattr(one, "mask", None)}
    return {**found, "starts_at": media.video_timestamp, "self_destructs_after": media.ttl_seconds}


def _set(found: Any) -> str:
    """What a set of stickers is known by: its short name or its number."""
    return str(getattr(found, "short_name", None) or getattr(found, "id", None) or "")


def _contact(media: Any, people: People) -> Details:
    return {
        "phone": media.phone_number,
        "first_name": media.first_name,
        "last_name": media.last_name,
        "vcard": media.vcard,
        "person": media.user_id,
    }


def _place(media: Any) -> Details:
    """Where something is; nothing where Telegram no longer says."""
    point = media.geo
    if not isinstance(point, types.GeoPoint):
        return {}
    return {"latitude": point.lat, "longitude": point.long, "accuracy": point.accuracy_radius}


def _location(media: Any, people: People) -> Details:
    return _place(media)


def _live_location(media: Any, people: People) -> Details:
    further = {
        "lasts_for": media.period,
        "heading": media.heading,
        "alert_within": media.proximity_notification_radius,
    }
    return {**_place(media), **further}


def _venue(media: Any, people: People) -> Details:
    return {
        **_place(media),
        "title": media.title,
        "address": media.address,
        "provider": media.provider,
        "venue": media.venue_id,
        "venue_type": media.venue_type,
    }


def _game(media: Any, people: People) -> Details:
    game = media.game
    return {"title": game.title, "description": game.description, "short_name": game.short_name}


def _paid_media(media: Any, people: People) -> Details:
    return {"stars": media.stars_amount, "items": len(media.extended_media)}


def _giveaway(media: Any, people: People) -> Details:
    channels = [marked_channel(number) for number in media.channels]
    return {
        "winners": media.quantity,
        "until": media.until_date,
        "months": media.months,
        "stars": media.stars,
        "prize": media.prize_description,
        "countries": media.countries_iso2,
        "channels": channels,
        "channel_names": _names(people, channels),
        "new_subscribers": media.only_new_subscribers,
        "winners_public": media.winners_are_visible,
    }


def _giveaway_results(media: Any, people: People) -> Details:
    return {
        "winners": media.winners,
        "winner_names": _names(people, media.winners),
        "winner_count": media.winners_count,
        "unclaimed": media.unclaimed_count,
        "until": media.until_date,
        "months": media.months,
        "stars": media.stars,
        "prize": media.prize_description,
        "channel": marked_channel(media.channel_id),
        "launch": media.launch_msg_id,
        "additional_channels": media.additional_peers_count,
        "new_subscribers": media.only_new_subscribers,
        "refunded": media.refunded,
    }


def _story(media: Any, people: People) -> Details:
    owner = marked_number(media.peer)
    return {
        "story": media.id,
        "owner": owner,
        "owner_name": name_of(people, owner),
        "caption": getattr(media.story, "caption", None),
        "mention": media.via_mention,
        "gone": isinstance(media.story, types.StoryItemDeleted),
    }


def _checklist(media: Any, people: People) -> Details:
    done = {one.id: one for one in media.completions or ()}
    return {
        "title": media.todo.title.text,
        "items": [_task(one, done.get(one.id), people) for one in media.todo.list],
        "others_can_add": media.todo.others_can_append,
        "others_can_complete": media.todo.others_can_complete,
    }


def _task(task: Any, done: Any, people: People) -> Details:
    by = None if done is None else marked_number(done.completed_by)
    found = {
        "key": str(task.id),
        "text": task.title.text,
        "done_by": by,
        "done_by_name": name_of(people, by),
        "done_at": None if done is None else done.date,
    }
    return _told(found)


def _names(people: People, numbers: Iterable[int]) -> list[str]:
    """The names of those whom the answer describes."""
    return [name for number in numbers if (name := name_of(people, UserId(number)))]


_MEDIA: dict[type, tuple[MessageKind | None, DetailsOf]] = {
    types.MessageMediaPhoto: (MessageKind.PHOTO, _photo),
    types.MessageMediaDocument: (None, _document),
    types.MessageMediaWebPage: (MessageKind.TEXT, _from({})),
    types.MessageMediaPoll: (MessageKind.POLL, _from({})),
    types.MessageMediaToDo: (MessageKind.CHECKLIST, _checklist),
    types.MessageMediaContact: (MessageKind.CONTACT, _contact),
    types.MessageMediaGeo: (MessageKind.LOCATION, _location),
    types.MessageMediaGeoLive: (MessageKind.LIVE_LOCATION, _live_location),
    types.MessageMediaVenue: (MessageKind.VENUE, _venue),
    types.MessageMediaDice: (MessageKind.DICE, _from({"emoji": "emoticon", "value": "value"})),
    types.MessageMediaGame: (MessageKind.GAME, _game),
    types.MessageMediaInvoice: (
        MessageKind.INVOICE,
        _from(
            {
                "title": "title",
                "description": "description",
                "currency": "currency",
                "amount": "total_amount",
                "test": "test",
                "shipping": "shipping_address_requested",
                "receipt": "receipt_msg_id",
            }
        ),
    ),
    types.MessageMediaPaidMedia: (MessageKind.PAID_MEDIA, _paid_media),
    types.MessageMediaGiveaway: (MessageKind.GIVEAWAY, _giveaway),
    types.MessageMediaGiveawayResults: (MessageKind.GIVEAWAY_RESULTS, _giveaway_results),
    types.MessageMediaStory: (MessageKind.STORY, _story),
    types.MessageMediaVideoStream: (MessageKind.LIVE_STREAM, _from({"external": "rtmp_stream"})),
}


def media_of(media: Any, people: People) -> tuple[MessageKind, Details | None]:
    """What the media makes of a message, and its details; unsupported for a kind this version does not know."""
    known = _MEDIA.get(type(media))
    if known is None:
        return MessageKind.UNSUPPORTED, None
    kind, details_of = known
    return kind or document_kind(media.document, media), _told(details_of(media, people)) or None


def document_kind(document: Any, media: Any = None) -> MessageKind:
    """What kind of message a document makes, by its attributes.

    The document of a message that destroyed itself is gone; then *media* decides.
    """
    attributes = {type(one): one for one in getattr(document, "attributes", None) or ()}
    if types.DocumentAttributeSticker in attributes or types.DocumentAttributeCustomEmoji in attributes:
        return MessageKind.STICKER
    if types.DocumentAttributeAnimated in attributes:
        return MessageKind.ANIMATION
    if (video := attributes.get(types.DocumentAttributeVideo)) is not None:
        return MessageKind.ROUND_VIDEO if video.round_message else MessageKind.VIDEO
    if (audio := attributes.get(types.DocumentAttributeAudio)) is not None:
        return MessageKind.VOICE if audio.voice else MessageKind.AUDIO
    if not attributes and media is not None:
        gone = {"voice": MessageKind.VOICE, "round": MessageKind.ROUND_VIDEO, "video": MessageKind.VIDEO}
        return next((kind for name, kind in gone.items() if getattr(media, name)), MessageKind.FILE)
    return MessageKind.FILE


def _told(details: Details) -> dict[str, Any]:
    """Details without what is not told, as JSON takes them; zero is told."""
    return {name: _json(value) for name, value in details.items() if value or (value == 0 and value is not False)}


def _json(value: Any) -> Any:
    if isinstance(value, list):
        return [_json(one) for one in value]
    return value if isinstance(value, dict) else encoded(value)
