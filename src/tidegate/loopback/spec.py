"""The JSON that the control address takes for every platform."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from tidegate.core.errors import BadInput
from tidegate.loopback.faults import Fault, FaultKind

Name = int | str
Count = Annotated[int, Field(ge=0, le=1_000_000)]


class Strict(BaseModel):
    """A misspelt field is refused: ignoring it could make a test pass for the wrong reason."""

    model_config = ConfigDict(extra="forbid")


class PlatformLimits(Strict):
    """Limits of one platform; one that is None stays as it is."""

    def set_on(self, limits: object) -> None:
        for name, value in self.model_dump(exclude_none=True).items():
            setattr(limits, name, value)


class PlatformFault(Strict):
    """A fault for the next calls of one platform, which the subclass names."""

    kind: FaultKind
    method: str = ""
    count: Annotated[int, Field(ge=1)] = 1
    seconds: Annotated[float, Field(ge=0)] = 0
    code: int | str = ""
    account: str = ""
    channel: Name | None = None

    def require_known(self, brand: str, known: Collection[FaultKind]) -> None:
        if self.kind not in known:
            raise BadInput(f'{brand} knows no fault "{self.kind.value}"; it knows {", ".join(sorted(known))}.')

    def fault(self, account: str, channel: int) -> Fault:
        """The fault for calls of *account* in *channel*, as the platform's world knows them."""
        return Fault(self.kind, self.method, self.count, self.seconds, str(self.code), account, channel)
