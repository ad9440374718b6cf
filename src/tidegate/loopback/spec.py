"""What the control address is told in the same words about every platform."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from tidegate.loopback.faults import FaultKind

Name = int | str
Count = Annotated[int, Field(ge=0, le=1_000_000)]


class Strict(BaseModel):
    """A misspelt field is refused: silence about it would make a test pass for the wrong reason."""

    model_config = ConfigDict(extra="forbid")


class PlatformFault(Strict):
    """Trouble for the next calls of one platform, which its own class names."""

    kind: FaultKind
    method: str = ""
    count: Annotated[int, Field(ge=1)] = 1
    seconds: Annotated[float, Field(ge=0)] = 0
    code: int | str = ""
    account: str = ""
    channel: Name | None = None
