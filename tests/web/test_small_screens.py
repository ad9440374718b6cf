"""Pages on small screens in a browser: nothing is wider than the screen, and what is touched is large enough."""

from __future__ import annotations

from tests.maintenance import filled_database
from tests.web.browser_pages import pages
from tests.web.browsing import needs_browser
from tidegate.database.pool import Database

pytestmark = needs_browser

PATHS = (
    "/", "/messages?q=gate", "/channels", "/channels/1/options", "/channels/1/technical", "/archives", "/archives/1",
    "/storage", "/reminders", "/reminders/new", "/reminders/lists", "/reminders/lists/1?on_it=true", "/activity",
    "/activity/1", "/accounts", "/accounts/1", "/settings", "/log",
)  # fmt: skip

TOO_SMALL = """() => {
    const inSentence = (link) => link.closest("p:not(.path, .more-below, .where, .acts, .soft)");
    const pressed = "a[href], button, summary, select, input:not([type=hidden]), textarea";
    const found = [];
    for (const one of document.querySelectorAll(pressed)) {
        if (!one.checkVisibility({ visibilityProperty: true }) || one.closest(".skip, .unseen")) continue;
        if (one.matches("a:not(.button)") && inSentence(one)) continue;
        const touched = one.matches("[type=checkbox], [type=radio]") ? one.closest("label") : one;
        const { width, height, right } = touched.getBoundingClientRect();
        if (width && right > 0 && (height < 43.5 || width < 43.5)) found.push(`${one.tagName} ${one.textContent}`);
    }
    return found;
}"""
"""What can be pressed and is smaller than 44 by 44 pixels, beside links within a sentence."""


async def test_nothing_is_too_wide_or_too_small_to_touch(database: Database) -> None:
    """At 320 and 390 pixels everything is large enough; at no width a page scrolls sideways."""
    await filled_database.fill(database)
    async with pages(database, viewport={"width": 390, "height": 844}) as watched:
        for path in PATHS:
            await watched.go(path)
            for width in (1024, 834, 390, 320):
                await watched.page.set_viewport_size({"width": width, "height": 844})
                assert await watched.too_wide() == 0, (path, width)
                assert width > 390 or await watched.page.evaluate(TOO_SMALL) == [], (path, width)
