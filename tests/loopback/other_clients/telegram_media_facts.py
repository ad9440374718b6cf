"""What a Telegram message carries beside its text: in the truth as the schema names it, and as Kurigram does."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from tests.loopback.other_clients.comparison import Field, Table, moment

Raw = dict[str, Any]
_OUTSIDE = "-100"
_FILES = {
    "photo": "photo",
    "document": "document",
    "video": "video",
    "video_note": "round",
    "animation": "animation",
    "audio": "audio",
    "voice": "voice",
    "sticker": "sticker",
}
"""Kurigram's names of files, and ours."""

_MEDIA = {
    "MessageMediaContact": "CONTACT",
    "MessageMediaDice": "DICE",
    "MessageMediaGame": "GAME",
    "MessageMediaGeo": "LOCATION",
    "MessageMediaGeoLive": "LOCATION",
    "MessageMediaGiveaway": "GIVEAWAY",
    "MessageMediaGiveawayResults": "GIVEAWAY_WINNERS",
    "MessageMediaInvoice": "INVOICE",
    "MessageMediaPaidMedia": "PAID_MEDIA",
    "MessageMediaPhoto": "PHOTO",
    "MessageMediaPoll": "POLL",
    "MessageMediaStory": "STORY",
    "MessageMediaToDo": "CHECKLIST",
    "MessageMediaVenue": "VENUE",
    "MessageMediaWebPage": "WEB_PAGE",
}
_DOCUMENTS = {
    "DocumentAttributeAnimated": "ANIMATION",
    "DocumentAttributeSticker": "STICKER",
    "DocumentAttributeVideo": "VIDEO",
    "DocumentAttributeAudio": "AUDIO",
}


def instant(local: datetime | None) -> datetime | None:
    """Kurigram's moments are in the machine's own time zone and do not say so."""
    return datetime.fromtimestamp(local.timestamp(), UTC) if local else None


def peer_in_truth(peer: Raw | None) -> int | None:
    """A peer as Kurigram numbers it: channels below zero."""
    if peer is None:
        return None
    return int(peer["user_id"]) if "user_id" in peer else int(f"{_OUTSIDE}{peer['channel_id']}")


def _id(thing: Any) -> int | None:
    return int(thing.id) if thing else None


def _base64(content: bytes | None) -> str | None:
    return b64encode(content).decode() if content else None


def _attributes(document: Raw) -> dict[str, Raw]:
    return {one["_"]: one for one in document["attributes"]}


def _media(message: Raw) -> Raw:
    media: Raw = message["raw"].get("media") or {"_": None}
    return media


def _of_class(kind: str, tell: Callable[[Raw], Any]) -> Callable[[Raw], Any]:
    """Tells about the media of this class only."""
    return lambda message: tell(_media(message)) if _media(message)["_"] == kind else None


def _where(name: str, tell: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Tells about the part of Kurigram's message with this name, when there is one."""
    return lambda message: tell(held) if (held := getattr(message, name)) else None


def _kind_in_truth(message: Raw) -> str | None:
    media = _media(message)
    if media["_"] is None:
        return None
    if media["_"] != "MessageMediaDocument":
        return _MEDIA.get(media["_"], "UNSUPPORTED")
    attributes = _attributes(media["document"])
    kind = next((kind for name, kind in _DOCUMENTS.items() if name in attributes), "DOCUMENT")
    if kind == "VIDEO" and attributes["DocumentAttributeVideo"].get("round_message"):
        return "VIDEO_NOTE"
    return "VOICE" if kind == "AUDIO" and attributes["DocumentAttributeAudio"].get("voice") else kind


def _document_in_truth(message: Raw) -> Raw | None:
    """Type, length, measures, waveform, music and emoji of a document; a photo has none of them."""
    media = _media(message)
    if media["_"] != "MessageMediaDocument":
        return None
    attributes = _attributes(media["document"])
    audio, video = attributes.get("DocumentAttributeAudio", {}), attributes.get("DocumentAttributeVideo", {})
    size = attributes.get("DocumentAttributeImageSize", video)
    sticker = "DocumentAttributeSticker" in attributes
    return {
        "mime": media["document"]["mime_type"],
        "duration": None if sticker else audio.get("duration", video.get("duration")),
        "width": size.get("w"),
        "waveform": audio.get("waveform"),
        "performer": audio.get("performer"),
        "title": audio.get("title"),
        "emoji": attributes["DocumentAttributeSticker"]["alt"] if sticker else None,
        "spoiler": media.get("spoiler", False),
    }


def _document_as_read(message: Any) -> Raw | None:
    file = next((held for name in _FILES if name != "photo" and (held := getattr(message, name))), None)
    if file is None:
        return None
    return {
        "mime": file.mime_type,
        "duration": getattr(file, "duration", None),
        "width": getattr(file, "width", None) or getattr(file, "length", None),
        "waveform": _base64(getattr(file, "waveform", None)),
        "performer": getattr(file, "performer", None),
        "title": getattr(file, "title", None),
        "emoji": getattr(file, "emoji", None),
        "spoiler": bool(message.has_media_spoiler),
    }


def file_as_read(message: Any) -> Raw | None:
    for name, kind in _FILES.items():
        if file := getattr(message, name):
            return {"kind": kind, "size": file.file_size, "name": getattr(file, "file_name", None)}
    return None


def _poll_in_truth(media: Raw) -> Raw:
    poll, results = media["poll"], media["results"]
    rows = {row["option"]: row for row in results["results"]}
    return {
        "id": str(poll["id"]),
        "question": poll["question"]["text"],
        "answers": [
            {"text": answer["text"]["text"], "votes": rows[answer["option"]]["voters"]} for answer in poll["answers"]
        ],
        "right": [
            place for place, answer in enumerate(poll["answers"]) if rows[answer["option"]].get("correct", False)
        ],
        "voters": results["total_voters"],
        "closed": poll.get("closed", False),
        "quiz": poll.get("quiz", False),
        "several": poll.get("multiple_choice", False),
        "public": poll.get("public_voters", False),
        "solution": results.get("solution"),
    }


def _poll_as_read(poll: Any) -> Raw:
    return {
        "id": poll.id,
        "question": poll.question.text,
        "answers": [{"text": option.text.text, "votes": option.voter_count} for option in poll.options],
        "right": poll.correct_option_ids or [],
        "voters": poll.total_voter_count,
        "closed": bool(poll.is_closed),
        "quiz": poll.type.name == "QUIZ",
        "several": bool(poll.allows_multiple_answers),
        "public": not poll.is_anonymous,
        "solution": poll.explanation.text if poll.explanation else None,
    }


def _page_in_truth(media: Raw) -> Raw:
    page = media["webpage"]
    names = ("url", "display_url", "type", "site_name", "title", "description", "author")
    return {"id": str(page["id"]), **{name: page.get(name) for name in names}}


def _page_as_read(page: Any) -> Raw:
    names = ("id", "url", "display_url", "type", "site_name", "title", "description", "author")
    return {name: getattr(page, name) for name in names}


def _point_in_truth(message: Raw) -> Raw | None:
    media = _media(message)
    if media["_"] not in ("MessageMediaGeo", "MessageMediaGeoLive", "MessageMediaVenue"):
        return None
    return {
        "at": (media["geo"]["lat"], media["geo"]["long"]),
        "period": media.get("period"),
        "heading": media.get("heading"),
        "radius": media.get("proximity_notification_radius"),
    }


def _point_as_read(message: Any) -> Raw | None:
    point = message.location or (message.venue.location if message.venue else None)
    if point is None:
        return None
    return {
        "at": (point.latitude, point.longitude),
        "period": point.live_period,
        "heading": point.heading,
        "radius": point.proximity_alert_radius,
    }


def _venue_in_truth(media: Raw) -> Raw:
    return {name: media[name] for name in ("title", "address", "venue_id", "venue_type")}


def _venue_as_read(venue: Any) -> Raw:
    return {
        "title": venue.title,
        "address": venue.address,
        "venue_id": venue.foursquare_id,
        "venue_type": venue.foursquare_type,
    }


def _contact_in_truth(media: Raw) -> Raw:
    return {name: media[name] for name in ("phone_number", "first_name", "last_name", "vcard", "user_id")}


def _contact_as_read(contact: Any) -> Raw:
    return {name: getattr(contact, name) for name in ("phone_number", "first_name", "last_name", "vcard", "user_id")}


def _game_in_truth(media: Raw) -> Raw:
    return {name: media["game"][name] for name in ("id", "title", "short_name", "description")}


def _game_as_read(game: Any) -> Raw:
    return {name: getattr(game, name) for name in ("id", "title", "short_name", "description")}


def _invoice_in_truth(media: Raw) -> Raw:
    return {name: media[name] for name in ("title", "description", "currency", "total_amount")}


def _invoice_as_read(invoice: Any) -> Raw:
    return {name: getattr(invoice, name) for name in ("title", "description", "currency", "total_amount")}


def _giveaway_in_truth(media: Raw) -> Raw:
    return {
        "channels": [int(f"{_OUTSIDE}{number}") for number in media["channels"]],
        "quantity": media["quantity"],
        "months": media["months"],
        "until": moment(media["until_date"]),
        "prize": media["prize_description"],
        "visible": media["winners_are_visible"],
    }


def _giveaway_as_read(giveaway: Any) -> Raw:
    return {
        "channels": [chat.id for chat in giveaway.chats],
        "quantity": giveaway.quantity,
        "months": giveaway.months,
        "until": instant(giveaway.until_date),
        "prize": giveaway.description,
        "visible": giveaway.winners_are_visible,
    }


def _winners_in_truth(media: Raw) -> Raw:
    return {
        "channel": int(f"{_OUTSIDE}{media['channel_id']}"),
        "launched_by": media["launch_msg_id"],
        "winners": media["winners"],
        "months": media["months"],
        "prize": media["prize_description"],
    }


def _winners_as_read(results: Any) -> Raw:
    return {
        "channel": results.chat.id,
        "launched_by": results.giveaway_message_id,
        "winners": [user.id for user in results.winners],
        "months": results.premium_subscription_month_count,
        "prize": results.prize_description,
    }


def _story_in_truth(media: Raw) -> Raw:
    story = media["story"]
    return {
        "id": media["id"],
        "of": peer_in_truth(media["peer"]),
        "caption": story["caption"],
        "date": moment(story["date"]),
        "until": moment(story["expire_date"]),
    }


def _story_as_read(story: Any) -> Raw:
    return {
        "id": story.id,
        "of": _id(story.from_user),
        "caption": story.caption,
        "date": instant(story.date),
        "until": instant(story.expire_date),
    }


def _list_in_truth(media: Raw) -> Raw:
    done = {one["id"]: peer_in_truth(one["completed_by"]) for one in media.get("completions", ())}
    items = [{"text": item["title"]["text"], "done_by": done.get(item["id"])} for item in media["todo"]["list"]]
    return {"title": media["todo"]["title"]["text"], "items": items}


def _list_as_read(checklist: Any) -> Raw:
    items = [{"text": str(task.text), "done_by": _id(task.completed_by)} for task in checklist.tasks]
    return {"title": str(checklist.title), "items": items}


def _paid_in_truth(media: Raw) -> Raw:
    return {"stars": media["stars_amount"], "widths": [one["w"] for one in media["extended_media"]]}


def _paid_as_read(paid: Any) -> Raw:
    return {"stars": paid.stars_amount, "widths": [one.width for one in paid.media]}


MEDIA: Table = {
    "media": Field(_kind_in_truth, lambda read: read.media.name if read.media else None),
    "document": Field(_document_in_truth, _document_as_read),
    "photo_spoiler": Field(
        _of_class("MessageMediaPhoto", lambda media: media.get("spoiler", False)),
        lambda read: bool(read.has_media_spoiler) if read.photo else None,
    ),
    "poll": Field(_of_class("MessageMediaPoll", _poll_in_truth), _where("poll", _poll_as_read)),
    "preview": Field(_of_class("MessageMediaWebPage", _page_in_truth), _where("web_page", _page_as_read)),
    "place": Field(_point_in_truth, _point_as_read),
    "venue": Field(_of_class("MessageMediaVenue", _venue_in_truth), _where("venue", _venue_as_read)),
    "contact": Field(_of_class("MessageMediaContact", _contact_in_truth), _where("contact", _contact_as_read)),
    "dice": Field(
        _of_class("MessageMediaDice", lambda media: (media["emoticon"], media["value"])),
        _where("dice", lambda dice: (dice.emoji, dice.value)),
    ),
    "game": Field(_of_class("MessageMediaGame", _game_in_truth), _where("game", _game_as_read)),
    "invoice": Field(_of_class("MessageMediaInvoice", _invoice_in_truth), _where("invoice", _invoice_as_read)),
    "giveaway": Field(_of_class("MessageMediaGiveaway", _giveaway_in_truth), _where("giveaway", _giveaway_as_read)),
    "winners": Field(
        _of_class("MessageMediaGiveawayResults", _winners_in_truth), _where("giveaway_winners", _winners_as_read)
    ),
    "story": Field(_of_class("MessageMediaStory", _story_in_truth), _where("story", _story_as_read)),
    "to_do": Field(_of_class("MessageMediaToDo", _list_in_truth), _where("checklist", _list_as_read)),
    "paid": Field(_of_class("MessageMediaPaidMedia", _paid_in_truth), _where("paid_media", _paid_as_read)),
}
