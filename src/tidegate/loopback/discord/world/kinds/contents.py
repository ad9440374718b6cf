"""Messages of people, bots and webhooks: stickers, polls, forwards, voice, files, mentions, invitations."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256

from tidegate.loopback.discord.world.kinds.embeds import EMBEDS
from tidegate.loopback.discord.world.kinds.scene import Maker, Raw, Scene
from tidegate.loopback.discord.world.messages.sample_files import PICTURE_SIZE

CROSSPOSTED, IS_CROSSPOST, SUPPRESS_EMBEDS, URGENT = 1 << 0, 1 << 1, 1 << 2, 1 << 4
EPHEMERAL, LOADING, SUPPRESS_NOTIFICATIONS, IS_VOICE, HAS_SNAPSHOT = 1 << 6, 1 << 7, 1 << 12, 1 << 13, 1 << 14

STICKERS = {"png": 1, "apng": 2, "lottie": 3, "gif": 4}
"""Formats of stickers by the name that discord.py has for them."""


def _picture(name: str = "harbour.png", **otherwise: object) -> Raw:
    return {"filename": name, "content_type": "image/png", **PICTURE_SIZE, **otherwise}


def _sticker(scene: Scene, name: str) -> Raw:
    return {"id": scene.id(f"sticker {name}"), "name": scene.words(f"sticker {name}", 1), "format_type": STICKERS[name]}


def _stickers_of(name: str) -> Maker:
    return lambda scene: {"content": "", "sticker_items": [_sticker(scene, name)]}


def _poll(scene: Scene, *, several: bool = False, finished: bool = False) -> Raw:
    counts = (3, 2, 0) if not several else (5, 4, 2)
    answers = [
        {"answer_id": 1, "poll_media": {"text": scene.words("answer 1", 2), "emoji": {"id": None, "name": "🌊"}}},
        {"answer_id": 2, "poll_media": {"text": scene.words("answer 2", 2)}},
        {
            "answer_id": 3,
            "poll_media": {"text": scene.words("answer 3", 2), "emoji": {"id": scene.id("emoji"), "name": "buoy"}},
        },
    ]
    held = [{"id": place + 1, "count": count, "me_voted": False} for place, count in enumerate(counts)]
    poll = {
        "question": {"text": f"{scene.words('question')}?"},
        "answers": answers,
        "expiry": scene.moment(hours=24),
        "allow_multiselect": several,
        "layout_type": 1,
        "results": {"is_finalized": finished, "answer_counts": held},
    }
    return {"content": "", "poll": poll}


def _poll_without_results(scene: Scene) -> Raw:
    """The platform does not always say how many voted."""
    poll = {name: value for name, value in _poll(scene)["poll"].items() if name != "results"}
    return {"content": "", "poll": poll}


def _forward(scene: Scene) -> Raw:
    """A forwarded message has no author; its reference leads to another place."""
    snapshot = {
        "type": 0,
        "content": f"{scene.words('forwarded', 8)} <@{scene.user(1)['id']}>",
        "embeds": [EMBEDS["article"](scene)],
        "attachments": [_picture("forwarded.png", description=scene.words("described"))],
        "timestamp": scene.moment(days=-3),
        "edited_timestamp": scene.moment(days=-2),
        "flags": 0,
        "mentions": [scene.user(1)],
        "mention_roles": [],
        "sticker_items": [_sticker(scene, "png")],
        "components": [],
    }
    reference = {"type": 1, "channel_id": scene.id("other channel"), "guild_id": scene.id("other guild")}
    reference["message_id"] = scene.id("other message")
    return {
        "content": "",
        "flags": HAS_SNAPSHOT,
        "message_reference": reference,
        "message_snapshots": [{"message": snapshot}],
    }


def _reply_to_deleted(scene: Scene) -> Raw:
    return {"type": 19, "content": scene.words(), "message_reference": scene.reference(message_id=scene.never)}


def _voice(scene: Scene) -> Raw:
    waveform = b64encode(sha256(scene.words().encode()).digest() * 4).decode()
    file = {"filename": "voice-message.ogg", "content_type": "audio/ogg", "duration_secs": 4.32, "waveform": waveform}
    return {"content": "", "flags": IS_VOICE, "attachments": [file]}


def _files(scene: Scene) -> Raw:
    return {
        "content": scene.words(),
        "attachments": [
            _picture(title="Harbour at night", description=scene.words("described"), placeholder="3vcNBYBnd3h0eFd2"),
            {"filename": "chart.pdf", "content_type": "application/pdf", "size": 3000},
            {"filename": "waves.mp4", "content_type": "video/mp4", "size": 4000, "width": 1280, "height": 720},
            {"filename": "horn.mp3", "content_type": "audio/mpeg", "size": 2000},
        ],
    }


def _spoiler(scene: Scene) -> Raw:
    files = [_picture("SPOILER_treasure.png", flags=8), _picture("hidden.png", flags=8)]
    return {"content": f"||{scene.words()}||", "attachments": files}


def _clip(scene: Scene) -> Raw:
    file = {"filename": "clip.mp4", "content_type": "video/mp4", "size": 5000, "width": 1280, "height": 720, "flags": 1}
    file |= {"clip_participants": [scene.user(0), scene.user(2)], "clip_created_at": scene.moment(minutes=-5)}
    return {"content": "", "attachments": [file], "flags": 0}


def _mentions(scene: Scene) -> Raw:
    people = f"<@{scene.user(1)['id']}> and <@!{scene.user(2)['id']}>"
    role = next(reversed(scene.world.guilds[scene.channel.guild].roles)) if scene.channel.guild else scene.id("role")
    places = f"<#{scene.channel.id}> <t:{int(scene.at.timestamp())}:R> <:buoy:{scene.id('emoji')}>"
    return {"content": f"{people}, <@&{role}>: see {places}"}


def _everyone(scene: Scene) -> Raw:
    return {"content": f"@everyone {scene.words()}"}


def _markdown(scene: Scene) -> Raw:
    lines = ("# heading", "-# small", "> quote", "- item", "**bold** *italic* __under__ ~~strike~~ ||spoiler|| `code`")
    return {"content": "\n".join([*lines, "```py\nprint(1)\n```", "[tide](https://example.com/tide)"])}


def _activity(scene: Scene) -> Raw:
    application = {"id": scene.id("game"), "name": "Tides", "description": scene.words(), "icon": None}
    application["cover_image"] = "0123456789abcdef0123456789abcdef"
    return {"activity": {"type": 1, "party_id": "spotify:party"}, "application": application, "content": ""}


def _webhook(scene: Scene) -> Raw:
    number = scene.id("webhook")
    author = {"id": number, "username": scene.words("name", 2), "avatar": None, "discriminator": "0000", "bot": True}
    return {"webhook_id": number, "author": author, "content": scene.words(), "embeds": [EMBEDS["rich"](scene)]}


def _crosspost(scene: Scene) -> Raw:
    """A message of a followed channel; it names its origin, and channels it mentions."""
    reference = {"type": 0, "channel_id": scene.id("followed channel"), "guild_id": scene.id("followed guild")}
    channel = {"id": scene.id("mentioned channel"), "guild_id": scene.id("followed guild"), "type": 0, "name": "dock"}
    return _webhook(scene) | {
        "flags": IS_CROSSPOST,
        "message_reference": reference | {"message_id": scene.id("followed message")},
        "mention_channels": [channel],
        "content": f"{scene.words()} <#{scene.id('mentioned channel')}>",
    }


def _bot(scene: Scene) -> Raw:
    author = {
        "id": scene.id("bot"),
        "username": "lighthouse",
        "global_name": None,
        "discriminator": "1234",
        "bot": True,
    }
    return {"author": author | {"avatar": None}, "content": scene.words(), "embeds": [EMBEDS["rich"](scene)]}


def _ephemeral(scene: Scene) -> Raw:
    files = [_picture(ephemeral=True)]
    return {"flags": EPHEMERAL, "content": scene.words(), "attachments": files}


def _gift(scene: Scene) -> Raw:
    """A gift is a link that Discord shows as a card; bots see only the link."""
    return {"content": f"https://discord.gift/{sha256(scene.words().encode()).hexdigest()[:16]}"}


def _edited(scene: Scene) -> Raw:
    return {"content": scene.words(), "edited_timestamp": scene.moment(milliseconds=1)}


def _reactions(scene: Scene) -> Raw:
    rows = [
        {"emoji": {"id": None, "name": "👍"}, "count": 3, "count_details": {"normal": 3, "burst": 0}},
        {"emoji": {"id": None, "name": "🌊"}, "count": 3, "count_details": {"normal": 1, "burst": 2}},
    ]
    own = {"id": scene.id("emoji"), "name": "buoy", "animated": True}
    return {"content": scene.words(), "reactions": [*rows, {"emoji": own, "count": 2}]}


def _embedded_file(scene: Scene) -> Raw:
    """A file that an embed shows is not in the message's own list."""
    embed = {"type": "rich", "title": scene.words("title"), "image": {"url": "attachment://shown.png"}}
    return {"content": "", "embeds": [embed], "attachments": [_picture("shown.png"), _picture("listed.png")]}


def _everything(scene: Scene) -> Raw:
    """Words, files, stickers, embeds, buttons and reactions in one message."""
    row = {"type": 2, "id": 2, "style": 5, "label": "open", "url": "https://example.com/", "disabled": False}
    return _files(scene) | {
        "embeds": [EMBEDS["rich"](scene), EMBEDS["article"](scene)],
        "sticker_items": [_sticker(scene, "gif")],
        "components": [{"type": 1, "id": 1, "components": [row]}],
        "reactions": _reactions(scene)["reactions"],
        "edited_timestamp": scene.moment(milliseconds=1),
        "pinned": True,
    }


MAKERS: dict[str, Maker] = {
    "text": lambda scene: {"content": scene.words("", 8)},
    "markdown": _markdown,
    "mentions": _mentions,
    "mention_everyone": _everyone,
    **{f"sticker_{name}": _stickers_of(name) for name in STICKERS},
    "poll": _poll,
    "poll_multiple": lambda scene: _poll(scene, several=True),
    "poll_finished": lambda scene: _poll(scene, finished=True),
    "poll_without_results": _poll_without_results,
    "forward": _forward,
    "reply_to_deleted": _reply_to_deleted,
    "voice": _voice,
    "files": _files,
    "spoiler": _spoiler,
    "clip": _clip,
    "embedded_file": _embedded_file,
    "activity_invite": _activity,
    "webhook": _webhook,
    "crosspost": _crosspost,
    "crossposted": lambda scene: {"content": scene.words(), "flags": CROSSPOSTED},
    "bot": _bot,
    "tts": lambda scene: {"content": scene.words(), "tts": True},
    "embeds_suppressed": lambda scene: {"content": "https://example.com/", "flags": SUPPRESS_EMBEDS},
    "silent": lambda scene: {"content": scene.words(), "flags": SUPPRESS_NOTIFICATIONS},
    "urgent": lambda scene: {"content": scene.words(), "flags": URGENT},
    "ephemeral": _ephemeral,
    "loading": lambda scene: {"content": "", "flags": LOADING},
    "gift": _gift,
    "edited": _edited,
    "pinned": lambda scene: {"content": scene.words(), "pinned": True},
    "reactions": _reactions,
    "everything": _everything,
    "unknown_type": lambda scene: {"type": 99, "content": scene.words()},
}
