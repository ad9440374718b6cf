"""Every address of the API, asked for something that a token may not know and for something that is not there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import httpx

from tidegate.web.openapi import document


@dataclass(frozen=True, slots=True)
class Question:
    """A request, and what it names."""

    method: str
    path: str
    query: dict[str, str]
    named: tuple[str, ...] = ()


def operations() -> Iterator[tuple[str, str, list[dict[str, Any]]]]:
    for path, methods in document()["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation.get("parameters", [])


def every_question(
    known: Mapping[str, Sequence[str]], named: Mapping[str, Sequence[tuple[str, str]]]
) -> Iterator[tuple[Question, Question]]:
    """Every address of the API with something hidden in it, and beside it the same with what does not exist.

    By the name of a parameter: *known* is what the token may see, *named* are pairs of something hidden and nothing.
    """
    for method, path, parameters in operations():
        inside = [one["name"] for one in parameters if one["in"] == "path"]
        asked = [one["name"] for one in parameters if one["in"] == "query" and _may_name(one, named)]
        plain = {"q": "tower"} if "q" in asked else {}
        for chosen in product(*([*((own, own) for own in known.get(name, [])), *named[name]] for name in inside)):
            filled = dict(zip(inside, chosen, strict=True))
            yield _both(method, path, filled, plain, {})
            yield from (_both(method, path, filled, plain, {one: values}) for one in asked for values in named[one])


def _may_name(parameter: dict[str, Any], named: Mapping[str, object]) -> bool:
    """Whether a parameter could name anything: one whose name is known here, and every free text."""
    schema = parameter["schema"]
    kinds = [one.get("items", one) for one in schema.get("anyOf", [schema])]
    return parameter["name"] in named or any(kind.get("type") == "string" and "enum" not in kind for kind in kinds)


Values = dict[str, tuple[str, str]]


def _both(method: str, path: str, inside: Values, plain: dict[str, str], query: Values) -> tuple[Question, Question]:
    """A question about the other channel, and the same about nothing."""

    def one(which: int) -> Question:
        named = [values[which] for values in (*inside.values(), *query.values()) if values[0] != values[1]]
        filled = path.format(**{name: values[which] for name, values in inside.items()})
        return Question(method, filled, plain | {name: values[which] for name, values in query.items()}, tuple(named))

    return one(0), one(1)


async def ask(client: httpx.AsyncClient, question: Question) -> tuple[int, str, list[tuple[str, str]]]:
    """The answer without what the question itself named: only that may be repeated."""
    body = {"name": "x", "as": "sent", "target": "x", "groups": []} if question.method in ("POST", "PUT") else None
    answer = await client.request(question.method, question.path, params=question.query, json=body)
    text = answer.text
    words = [*question.named, *(named.rpartition(":")[2] for named in question.named)]
    for named in sorted(words, key=len, reverse=True):
        for written in {named, json.dumps(named)[1:-1], httpx.URL(f"/{named}").raw_path.decode()[1:]}:
            text = text.replace(written, "ASKED")
    headers = [(name, value) for name, value in answer.headers.items() if name not in ("date", "content-length")]
    return answer.status_code, text, headers


def leaks(text: str, asked: Question) -> list[str]:
    """What of the hidden channel stands in an answer: all of it is called after a zebra, or has a number like this."""
    return [f"{asked.method} {asked.path} {asked.query}: {one}" for one in re.findall(r"(?i)zebra|98765432\d", text)]


async def told(client: httpx.AsyncClient, asked: Iterator[tuple[Question, Question]]) -> tuple[list[str], list[Any]]:
    """What leaks from all answers, and the questions about something hidden that are answered unlike nothing."""
    found: list[str] = []
    differ: list[Any] = []
    count = 0
    for theirs, nobodys in asked:
        count += 1
        first = await ask(client, theirs)
        status, text, headers = first
        assert status < 500, theirs
        found += leaks(text + str(headers), theirs)
        if theirs.named and first != (second := await ask(client, nobodys)):
            differ.append((f"{theirs.method} {theirs.path} {theirs.query}", first[:2], second[:2]))
    assert count > len(list(operations()))
    return found, differ
