"""WhatsApp, through neonize in a process of its own for each account."""

from tidegate.platforms.whatsapp.opening import DEVICE, FindLoopback, Sessions, whatsapp_opener
from tidegate.platforms.whatsapp.pairing import Linked, Scan, Step, Type, international, pair
from tidegate.platforms.whatsapp.signing_in import Questions, sign_in

__all__ = [
    "DEVICE",
    "FindLoopback",
    "Linked",
    "Questions",
    "Scan",
    "Sessions",
    "Step",
    "Type",
    "international",
    "pair",
    "sign_in",
    "whatsapp_opener",
]
