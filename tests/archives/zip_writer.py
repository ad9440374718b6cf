"""ZIP archives."""

from __future__ import annotations

import io
import zipfile


def zipped(*names: str, comment: bytes = b"") -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, b"x" * len(name))
        archive.comment = comment
    return held.getvalue()
