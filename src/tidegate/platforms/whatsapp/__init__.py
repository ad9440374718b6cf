"""WhatsApp, through neonize in a process of its own for each account."""

from tidegate.platforms.whatsapp.platform import WHATSAPP

__all__ = ["WHATSAPP"]
