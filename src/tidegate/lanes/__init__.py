"""Lanes: one client per account with the platform's verbs; every call is rate limited, paused when required, logged."""

from tidegate.lanes.background_reads import reading_in_background
from tidegate.lanes.call_gate import CallGate
from tidegate.lanes.call_limits import TRANSFERS, ReadLimits, SendLimits
from tidegate.lanes.lane import Lane
from tidegate.lanes.parked_reads import parking_long_waits
from tidegate.lanes.reads import ReadLoad
from tidegate.lanes.sends import Claimed

__all__ = [
    "TRANSFERS",
    "CallGate",
    "Claimed",
    "Lane",
    "ReadLimits",
    "ReadLoad",
    "SendLimits",
    "parking_long_waits",
    "reading_in_background",
]
