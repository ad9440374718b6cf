"""Lanes: one account's road to its platform, with the platform's verbs, in turn and paced."""

from tidegate.lanes.lane import Lane
from tidegate.lanes.limits import TRANSFERS, ReadLimits, SendLimits
from tidegate.lanes.sending import Claimed

__all__ = ["TRANSFERS", "Claimed", "Lane", "ReadLimits", "SendLimits"]
