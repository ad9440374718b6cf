"""Lanes: one account's road to its platform, with the platform's verbs, in turn and paced."""

from tidegate.lanes.lane import Lane
from tidegate.lanes.limits import CHAT_PACES, TRANSFERS, ReadLimits, SendLimits

__all__ = ["CHAT_PACES", "TRANSFERS", "Lane", "ReadLimits", "SendLimits"]
