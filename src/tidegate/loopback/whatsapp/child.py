"""The child process of a loopback account: the same as any other, with a stand-in below neonize."""

from __future__ import annotations

import neonize.aioze.client

from tidegate.loopback.whatsapp.standin import StandIn
from tidegate.platforms.whatsapp.child import main

if __name__ == "__main__":
    neonize.aioze.client.gocode = StandIn()
    main()
