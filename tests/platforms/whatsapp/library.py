"""neonize's message types without its Go library, which has no place in the process of the tests.

What its imports leave open is closed here, so that no test is blamed for it.
"""

from __future__ import annotations

import gc
import warnings

import pytest

with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
    warnings.simplefilter("ignore")
    patch.setenv("SPHINX", "1")  # neonize's own switch for importing it without the library
    from neonize.proto.Neonize_pb2 import UploadResponse

    from tidegate.platforms.whatsapp import message_content

    gc.collect()

__all__ = ["UploadResponse", "message_content"]
