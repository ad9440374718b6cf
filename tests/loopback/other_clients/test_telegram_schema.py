"""Telethon's schema, which the loopback Telegram writes with, beside that of a library by other authors."""

from __future__ import annotations

from io import BytesIO
from types import ModuleType
from typing import Any

from telethon.tl import TLObject
from telethon.tl.alltlobjects import LAYER, tlobjects

from tests.loopback.other_clients.specimens import specimen
from tidegate.loopback.telegram.tl_objects.tl_schema import arguments, classes_like

_NOT_OF_THE_API = frozenset(
    {
        "AccessPointRule",
        "ConfigSimple",
        "FutureSalt",
        "FutureSalts",
        "TlsBlockDomain",
        "TlsBlockGrease",
        "TlsBlockPublicKey",
        "TlsBlockRandom",
        "TlsBlockScope",
        "TlsBlockString",
        "TlsBlockZero",
        "TlsClientHello",
    }
)
"""Parts of the protocol below the API: salts, how a blocked client finds an address, and how it hides in TLS."""

_WHAT_FOLLOWS = bytes(64)
"""Kurigram guesses the type of a list from how many bytes follow, so something has to."""


def _differs(raw: Any, kind: type[TLObject]) -> str | None:
    """How Kurigram reads an object otherwise than Telethon wrote it; None when it writes the same bytes again."""
    written = bytes(specimen(kind))
    stream = BytesIO(written + _WHAT_FOLLOWS)
    try:
        read = raw.core.TLObject.read(stream)
    except KeyError as unknown:
        return f"{kind.__name__}: no constructor {unknown.args[0]:#x}"
    if stream.read() != _WHAT_FOLLOWS or read.write() != written:
        return f"{kind.__name__}: other fields"
    return None


async def test_both_libraries_write_and_read_every_constructor_alike(kurigram: ModuleType) -> None:
    """A mistake in Telethon's schema would cancel out between client and loopback; it does not cancel out here."""
    kinds = [kind for kind in tlobjects.values() if kind.__name__ not in _NOT_OF_THE_API]
    assert len(kinds) > 2000
    assert [difference for kind in kinds if (difference := _differs(kurigram.raw, kind))] == []


def test_the_loopback_reads_types_on_its_own() -> None:
    """Python remembers what a name in an annotation stood for, also if that was asked with other names."""
    kinds = classes_like("InputMedia")
    for kind in kinds:
        specimen(kind)
    held = [argument for kind in kinds for argument in arguments(kind).values()]
    assert [argument.name for argument in held if not all(isinstance(kind, type) for kind in argument.kinds)] == []


async def test_both_libraries_speak_the_same_layer(kurigram: ModuleType) -> None:
    """The loopback speaks one layer; where the libraries part, the lock has to name versions that agree."""
    assert kurigram.raw.all.layer == LAYER
