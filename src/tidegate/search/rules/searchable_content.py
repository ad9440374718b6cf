"""By which texts and marks a message is found, beside its own text: embeds, polls, previews, forwards, files.

They are read from the JSON in which a message's content is stored, so that what is stored is what is found.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

_HAS = ("image", "video", "voice", "audio", "sticker", "file", "link", "poll", "embed")
HAS_TAGS = {one: f"has:{one}" for one in _HAS}
"""What ``has:`` knows, and the tags by which it is found. A colon separates words, so a tag never equals a word."""

_OF_FORM = {
    "image": "image", "video": "video", "round video": "video", "animation": "video", "voice": "voice",
    "audio": "audio", "sticker": "sticker",
}  # fmt: skip
_LINK = re.compile(r"https?://", re.IGNORECASE)

_TEXTS = ("title", "description", "author", "footer", "provider", "site", "name", "signature", "text", "question",
          "explanation", "quote")  # fmt: skip
"""The fields of embeds, polls, previews, forwards and replies that people read."""


def content_texts(content: Mapping[str, Any] | None, *, quote_hidden: bool = False) -> list[str]:
    """All texts of a message's content, in their order; *quote_hidden* leaves out what it quotes of another message.

    Another version may have stored it: what is no text where one is expected is left out.
    """
    if not content or not isinstance(content, dict):
        return []
    if quote_hidden and isinstance(reply := content.get("reply"), dict):
        content = {**content, "reply": {**reply, "quote": None}}
    found: list[Any] = []
    for name, value in content.items():
        if name in _READ:
            found += _READ[name](value)
    return [text for text in found if text and isinstance(text, str)]


def _poll(poll: Any) -> list[Any]:
    answers = [answer.get("text") for answer in _objects(_in(poll, "answers"))]
    return [*_fields(poll), *answers]


def _forward(forward: Any) -> list[Any]:
    return [*_fields(forward), *_list(_in(forward, "files")), *_embeds(_in(forward, "embeds"))]


def _embeds(embeds: Any) -> list[Any]:
    return [text for embed in _objects(embeds) for text in _embed(embed)]


def _embed(embed: Mapping[str, Any]) -> list[Any]:
    return [*_fields(embed), *[text for pair in _list(embed.get("fields")) for text in _list(pair)]]


def _fields(value: Any) -> list[Any]:
    return [value[name] for name in _TEXTS if name in value] if isinstance(value, dict) else []


def _in(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()


def _objects(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in _list(value) if isinstance(one, dict)]


def _inside(value: Any) -> Iterator[str]:
    """Texts at any depth of the details; they are the platform's JSON, whose nesting is bounded by its parser."""
    pending = [value]
    while pending:
        one = pending.pop(0)
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            pending[:0] = list(one.values())
        elif isinstance(one, list | tuple):
            pending[:0] = list(one)


_READ: Mapping[str, Callable[[Any], Iterable[Any]]] = {
    "service": lambda text: (text,),
    "embeds": _embeds,
    "poll": _poll,
    "preview": _fields,
    "reply": _fields,
    "forward": _forward,
    "texts": _list,
    "via": lambda text: (text,),
    "mentions": lambda names: names.values() if isinstance(names, dict) else (),
    "details": _inside,
}
"""Where the texts of a content are, in the order in which they are read. JSON has no mappings but dicts."""


def awaited_tag(number: str) -> str:
    """The tag by which a message is found whose preview is still being made, by the platform's number of it."""
    return f"awaits:{number}"


def content_tags(text: str, forms: Iterable[str], content: Mapping[str, Any] | None) -> list[str]:
    """The tags by which ``has:`` finds a message, and a preview its message; *forms* are those of its files."""
    content = content or {}
    forward = content.get("forward") or {}
    has = {one for form in forms for one in ("file", _OF_FORM.get(form, "file"))}
    if "poll" in content:
        has.add("poll")
    if "embeds" in content or "embeds" in forward:
        has.add("embed")
    if "preview" in content or _has_link(text, content.get("formatting", ())) or _has_link(forward.get("text", ""), ()):
        has.add("link")
    tags = [HAS_TAGS[one] for one in sorted(has)]
    if "awaited_preview" in content:
        tags.append(awaited_tag(content["awaited_preview"]))
    return tags


def _has_link(text: str, formatting: Iterable[Mapping[str, Any]]) -> bool:
    if "://" in text and _LINK.search(text):
        return True
    return "link" in [span["kind"] for span in formatting]
