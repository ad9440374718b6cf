"""Embeds of every type, with every field that Discord documents."""

from __future__ import annotations

from tidegate.loopback.discord.world.kinds.scene import Maker, Raw, Scene
from tidegate.loopback.discord.world.messages.sample_files import PICTURE_SIZE

_SITE = "https://example.com"


def _media(scene: Scene, name: str) -> Raw:
    """A picture on some site; Discord's own copy of it is on this platform."""
    copy = f"loopback:///external/{scene.id(name)}/{name}"
    return {"url": f"{_SITE}/{name}", "proxy_url": copy, "content_type": "image/png", "flags": 0, **PICTURE_SIZE}


def _rich(scene: Scene) -> Raw:
    return {
        "type": "rich",
        "title": scene.words("title"),
        "description": scene.words("description", 12),
        "url": f"{_SITE}/rich",
        "timestamp": scene.moment(hours=-2),
        "color": 0x2F81F7,
        "footer": {
            "text": scene.words("footer"),
            "icon_url": f"{_SITE}/footer.png",
            "proxy_icon_url": f"{_SITE}/f.png",
        },
        "image": _media(scene, "image.png"),
        "thumbnail": _media(scene, "thumbnail.png"),
        "author": {"name": scene.words("author", 2), "url": f"{_SITE}/author", "icon_url": f"{_SITE}/author.png"},
        "fields": [
            {"name": scene.words(f"name {place}", 1), "value": scene.words(f"value {place}"), "inline": place > 0}
            for place in range(3)
        ],
    }


def _image(scene: Scene) -> Raw:
    return {"type": "image", "url": f"{_SITE}/image.png", "thumbnail": _media(scene, "image.png")}


def _video(scene: Scene) -> Raw:
    return {
        "type": "video",
        "url": f"{_SITE}/watch",
        "title": scene.words("title"),
        "description": scene.words("description", 8),
        "provider": {"name": scene.words("provider", 1), "url": _SITE},
        "author": {"name": scene.words("author", 2), "url": f"{_SITE}/author"},
        "thumbnail": _media(scene, "thumbnail.png"),
        "video": {"url": f"{_SITE}/embed/video.mp4", "width": 1280, "height": 720},
    }


def _gifv(scene: Scene) -> Raw:
    return {
        "type": "gifv",
        "url": f"{_SITE}/view/wave.gif",
        "provider": {"name": "Tenor", "url": "https://tenor.co"},
        "thumbnail": _media(scene, "wave.png"),
        "video": {
            "url": f"{_SITE}/wave.mp4",
            "proxy_url": "loopback:///external/wave.mp4",
            "width": 498,
            "height": 280,
        },
    }


def _article(scene: Scene) -> Raw:
    return {
        "type": "article",
        "url": f"{_SITE}/news",
        "title": scene.words("title"),
        "description": scene.words("description", 12),
        "provider": {"name": scene.words("provider", 1)},
        "thumbnail": _media(scene, "thumbnail.png"),
    }


def _link(scene: Scene) -> Raw:
    return {"type": "link", "url": f"{_SITE}/link", "title": scene.words("title"), "description": scene.words("told")}


def poll_result_embed(scene: Scene) -> Raw:
    told = {
        "poll_question_text": f"{scene.words('question')}?",
        "victor_answer_votes": "3",
        "total_votes": "5",
        "victor_answer_id": "1",
        "victor_answer_text": scene.words("answer 1", 2),
        "victor_answer_emoji_name": "🌊",
    }
    fields = [{"name": name, "value": value, "inline": False} for name, value in told.items()]
    return {"type": "poll_result", "fields": fields}


EMBEDS: dict[str, Maker] = {
    "rich": _rich,
    "image": _image,
    "video": _video,
    "gifv": _gifv,
    "article": _article,
    "link": _link,
    "poll_result": poll_result_embed,
}
"""Every type of embed by Discord's name."""


def _with(make: Maker) -> Maker:
    def made(scene: Scene) -> Raw:
        embed = make(scene)
        return {"content": embed.get("url", scene.words()), "embeds": [embed]}

    return made


MAKERS: dict[str, Maker] = {f"embed_{name}": _with(make) for name, make in EMBEDS.items()}
