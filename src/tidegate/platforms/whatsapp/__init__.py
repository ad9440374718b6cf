"""WhatsApp, through neonize in a process of its own for each account."""

from tidegate.platforms.whatsapp.opening import FindLoopback, Sessions, whatsapp_opener

__all__ = ["FindLoopback", "Sessions", "whatsapp_opener"]
