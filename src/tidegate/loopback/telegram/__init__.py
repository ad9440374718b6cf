"""Telegram on 127.0.0.1: an MTProto server for unmodified clients, over a world that holds the platform's own data."""

from tidegate.loopback.telegram.server import TelegramServer
from tidegate.loopback.telegram.world.world import World

__all__ = ["TelegramServer", "World"]
