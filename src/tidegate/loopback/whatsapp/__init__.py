"""WhatsApp on 127.0.0.1: phones, groups and what is sent to them, for neonize on a stand-in for its Go library."""

from tidegate.loopback.whatsapp.server import WhatsAppServer
from tidegate.loopback.whatsapp.world import World

__all__ = ["WhatsAppServer", "World"]
