"""Every page that links lead to, and its words as a person reads them."""

from __future__ import annotations

import html
import re

import httpx

_LINK = re.compile(r'(?:href|hx-get)="([^"#]+)')
_HIDDEN = re.compile(r"<(script|style|svg)\b.*?</\1>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_SPACE = re.compile(r"\s+")
_SPOKEN = re.compile(r'\b(?:aria-label|title|placeholder|hx-confirm|alt)="([^"]*)"')


def words_of(text: str) -> str:
    """What a page shows and what is said of it, without its markup."""
    text = _HIDDEN.sub(" ", text)
    spoken = " . ".join(_SPOKEN.findall(text))
    return _SPACE.sub(" ", html.unescape(f"{_TAG.sub(' ', text)} . {spoken}"))


async def crawl(client: httpx.AsyncClient, *also: str) -> dict[str, str]:
    """The words of one page of each kind, by path: from Home and *also* on, by links and by parts that load later."""
    waiting, kinds, found = ["/", *also], set[str](), dict[str, str]()
    while waiting:
        path = waiting.pop()
        kind = re.sub(r"\d+", "n", re.sub(r"\b(after|cursor|before|around|like)=[^&]*", "", path))
        if kind in kinds or re.match(r"/(static|events|api|media)\b", path) or not path.startswith("/"):
            continue
        kinds.add(kind)
        answer = await client.get(path)
        if "text/html" not in answer.headers.get("content-type", ""):
            continue
        found[path] = words_of(answer.text)
        waiting += [html.unescape(link) for link in _LINK.findall(answer.text)]
    return found
