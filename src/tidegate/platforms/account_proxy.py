"""The proxy through which an account connects: kept among its secrets, and tried before it is used."""

from __future__ import annotations

from datetime import timedelta

from python_socks import ProxyError
from python_socks.async_.asyncio import Proxy

from tidegate.core.errors import BadInput
from tidegate.core.rules.outgoing_proxy import ProxyAddress, parse_proxy
from tidegate.platforms.interface import Vault

PROXY = "proxy"
"""The name of the secret that holds the whole address."""

PATIENCE = timedelta(seconds=15)


async def proxy_of(vault: Vault) -> ProxyAddress | None:
    """The proxy of the account whose vault this is; None where it connects directly."""
    secret = await vault.read(PROXY)
    return None if secret is None else parse_proxy(secret.decode())


async def require_working(proxy: ProxyAddress, host: str, port: int) -> None:
    """Connect to *host* through the proxy once; ``BadInput`` says why that is not possible."""
    try:
        line = await Proxy.from_url(proxy.url).connect(host, port, timeout=PATIENCE.total_seconds())
    except TimeoutError:
        why = f"it did not connect within {PATIENCE.total_seconds():.0f} s"
    except OSError as problem:  # also the library's errors about the connection to the proxy itself
        why = problem.strerror or "it cannot be reached"
    except ProxyError:  # its text may hold anything that the proxy said
        why = "it refused, or wants another user name or password"
    else:
        line.close()
        return
    raise BadInput(f"The proxy {proxy.shown} does not lead to {host}: {why}. Nothing was changed.")
