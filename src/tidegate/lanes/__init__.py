"""Lanes: one client per account with the platform's verbs; every call is rate limited, paused when required, logged."""

from tidegate.lanes.call_gate import CallGate
from tidegate.lanes.call_limits import TRANSFERS, ReadLimits, SendLimits
from tidegate.lanes.lane import Lane
from tidegate.lanes.long_waits import parking_long_waits
from tidegate.lanes.sends import Claimed

__all__ = ["TRANSFERS", "CallGate", "Claimed", "Lane", "ReadLimits", "SendLimits", "parking_long_waits"]
