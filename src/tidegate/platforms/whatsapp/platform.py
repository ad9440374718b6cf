"""The facts about WhatsApp; importing this loads no library."""

from __future__ import annotations

from tidegate.core.platform import Platform

WHATSAPP = Platform(
    "whatsapp",
    brand="WhatsApp",
    sign_in_needs="a code to scan with your phone, or to type there. An unofficial client can get a number banned",
    sign_in_warning=(
        "An unofficial client, which Tidegate is to WhatsApp, can get a number banned. Use one that you can afford to "
        "lose, in groups that expect you."
    ),
    can_be_mirrored=False,
    reads_per_second=0.03,
    reads_at_once=1,
    sends_one_at_a_time=True,
    paced_by_standing=True,
    warms_up=True,
    links_by_phone=True,
    scan_codes_last=(60, 20),
    proxy_schemes=("socks5", "http"),
    reached_at=("web.whatsapp.com", 443),
    library_schema="whatsapp",
    sessions_shown_at="on the phone under Linked devices",
)
