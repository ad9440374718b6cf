"""Programs beside Python that some tests want, and what is said where they are missing."""

from __future__ import annotations

from pathlib import Path

CHROMIUM = Path("/usr/bin/chromium")
MISSING_CHROMIUM = (
    "Chromium is not installed here (apt-get install chromium), so the pages were not tried in a browser."
)
