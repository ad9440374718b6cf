"""Story: somebody starts the demo, signs in with its link, and does on the pages all that can be done there."""

from __future__ import annotations

import json
import re
from pathlib import Path

from playwright.async_api import expect

from tests.cli.account_commands import tell
from tests.servers import make_home
from tests.waiting import until
from tests.web.acts import NOTIFIED, answer, begin_adding, write_reminder
from tests.web.browsing import Watched, browsing, needs_browser
from tests.web.demo import Demo, living
from tidegate.loopback.telegram.world.pictures import photo_sizes

pytestmark = needs_browser

PAGES = (
    "/", "/channels", "/archives", "/messages?q=lantern", "/reminders", "/reminders/new", "/reminders/1/edit",
    "/reminders/1/test", "/activity", "/activity/2", "/accounts", "/settings",
)  # fmt: skip
LOOKS = ((1280, 900, "light"), (390, 844, "dark"))


async def test_an_operator_walks_the_demo(test_folder: Path) -> None:
    """Accounts on all platforms, a cycle, a failure retried, searches, a reminder followed to its end, every page.

    No error in the console, no request to another host, no serious finding of axe-core; Ctrl-C ends all of it.
    """
    async with living(make_home(test_folder / "walk")) as demo:
        base = demo.link.partition("/sign-in")[0]
        async with browsing(base, demo.link) as watched:
            watched.page.on("dialog", lambda dialog: dialog.accept())
            await watched.page.add_init_script(NOTIFIED)
            await add_telegram(watched, demo)
            await add_discord(watched, demo)
            await add_whatsapp(watched, demo)
            await have_a_cycle_made(watched)
            await retry_the_failure(watched)
            await search(watched)
            await remind(watched, demo)
            await see_every_page(watched)
        await try_what_it_printed(demo)
        await demo.interrupt()


async def add_telegram(watched: Watched, demo: Demo) -> None:
    """Phone, code and password, as the demo printed them; a wrong code is asked for again."""
    await begin_adding(watched, "Telegram", "bea")
    await answer(watched, "Phone number", demo.told(r"phone number (\+\d+)"))
    await answer(watched, "Code", "00000")
    await expect(watched.page.get_by_role("alert")).to_have_text(re.compile("."))
    assert await watched.problems() == []
    await answer(watched, "Code", (await demo.open(r"(http://\S+/telegram/code\S+)"))["code"])
    await answer(watched, "Password", demo.told(r'password "([^"]+)"'))
    await expect(watched.page.get_by_text('"bea" is signed in as Bea')).to_be_visible()


async def add_discord(watched: Watched, demo: Demo) -> None:
    """The token of a bot; what is none is asked for again."""
    await begin_adding(watched, "Discord", "beacon")
    await answer(watched, "Bot token", "not a token")
    await expect(watched.page.get_by_role("alert")).to_contain_text("token")
    await answer(watched, "Bot token", demo.told(r"token (\S+)"))
    await expect(watched.page.get_by_text('"beacon" is signed in')).to_be_visible()


async def add_whatsapp(watched: Watched, demo: Demo) -> None:
    """A phone scans the picture on the page; signed out, it types the code on the page. Then a worker serves all."""
    page, scan = watched.page, r"(http://\S+/whatsapp/pair\S+)"
    joined = page.get_by_text('"market" is signed in as +6281200000002')
    row = page.locator("li.account-card").filter(has_text="market")
    await begin_adding(watched, "WhatsApp", "market", standing="established")
    await expect(page.get_by_role("img", name="QR code")).to_be_visible()
    assert await watched.problems() == []
    await demo.open(scan)
    await expect(joined).to_be_visible()
    await page.get_by_role("link", name="Done").click()
    await expect(row.get_by_text("connected", exact=True)).to_be_visible()

    tell(f"{demo.control}/whatsapp/change", account="Market", signed_out=True)
    await page.get_by_role("button", name="Sign in again").click()
    await page.get_by_role("button", name="Use a code instead").click()
    await answer(watched, "Phone number", demo.told(r"with the number (\+\d+)"))
    await expect(page.locator(".to-type")).to_have_text(re.compile(r"^\w{4}-\w{4}$"))
    await expect(page.get_by_role("img", name="QR code")).to_have_count(0)
    assert await watched.problems() == []
    await demo.open(scan)
    await expect(joined).to_be_visible()

    await page.get_by_role("link", name="Done").click()
    for name in ("bea", "beacon", "market"):
        card = page.locator("li.account-card").filter(has_text=name).first
        await expect(card.get_by_text("connected", exact=True)).to_be_visible()
    await row.get_by_role("button", name="Refresh channels").click()
    await expect(page.locator("#said")).to_contain_text("Refreshing the channels")


async def have_a_cycle_made(watched: Watched) -> None:
    """A channel is found while one types; a check of it shows on its technical page with the requests it took."""
    page = watched.page
    await watched.go("/channels")
    await page.get_by_label("Name or ID").press_sequentially("workshop")
    await page.get_by_role("link", name="Workshop News").click()
    await page.get_by_role("link", name="Technical").click()
    made = page.get_by_role("row").filter(has_text="one channel")
    before = await made.count()
    await page.get_by_role("button", name="Check now").click()
    await expect(page.locator("#said")).to_contain_text("started")
    await expect(made).to_have_count(before + 1)
    await expect(made.first.locator("[data-label='Requests']")).to_have_text(re.compile(r"^[1-9]"))
    await see(watched)


async def retry_the_failure(watched: Watched) -> None:
    """The archive that failed says why; after another try it is filed, and the open page shows it."""
    page = watched.page
    await watched.go("/archives")
    await page.get_by_label("State").select_option("failed")
    await expect(page.locator("#archives tbody tr")).to_have_count(1)
    await page.locator("#archives tbody th a").click()
    await expect(page.locator("#archive .trouble")).to_contain_text("Telegram could not provide the file")
    await see(watched)
    await page.get_by_role("button", name="Retry").click()
    await expect(page.locator("#said")).to_contain_text("will be retried")
    await expect(page.locator("#archive .badge").first).to_have_text(re.compile("Indexed|Copied"))


async def search(watched: Watched) -> None:
    """A file inside an archive leads to the archive, a word to the message in its channel."""
    page = watched.page
    await watched.go("/archives")
    await page.get_by_label("Archive or file name").press_sequentially("tower_")
    await expect(page.locator("#archives tbody li").first).to_contain_text("tower_")
    await watched.go("/messages")
    await page.get_by_label("Search messages and files").fill('"message 180 of dragon hoard"')
    await page.keyboard.press("Enter")
    await page.get_by_role("link", name="Show in channel").click()
    await expect(page.locator("li:target")).to_contain_text("Message 180 of Dragon Hoard")
    await see(watched)


async def remind(watched: Watched, demo: Demo) -> None:
    """Written with a picture, reviewed, fired; the bar moves, a pause holds it, and its end comes as a notification."""
    page = watched.page
    picture = demo.home / "market.png"
    picture.write_bytes(photo_sizes("market")["y"])
    await watched.go("/reminders/new")
    await write_reminder(page, picture, account="market", groups=10)
    await page.get_by_role("button", name="Review").click()
    await expect(page.get_by_text("2 messages to each of 10 groups: 20 in all")).to_be_visible()
    await expect(page.get_by_text("Can be delivered in time")).to_be_visible()
    await see(watched)
    await page.get_by_role("button", name="Save reminder").click()
    row = page.get_by_role("row").filter(has_text="Market day")
    await row.get_by_role("link", name="Send now").click()
    await expect(page.get_by_role("heading", name="to 10 groups now?")).to_be_visible()
    await page.get_by_role("button", name="Send now").click()
    await page.wait_for_url("**/activity/*")

    bar = page.locator("progress.full")
    await expect(bar).not_to_have_attribute("value", "0")
    await page.get_by_role("button", name="Pause").click()
    resume = page.get_by_role("button", name="Resume")
    await expect(resume).to_be_visible()
    left = page.get_by_role("row").filter(has_text="Waiting").last
    group = await left.get_by_role("rowheader").inner_text()
    tell(f"{demo.control}/whatsapp/change", channel=group, left="+6281200000002")
    await resume.click()
    await expect(page.locator("#run .badge").first).to_have_text("Partly delivered")
    await expect(bar).to_have_attribute("value", "9")

    async def is_told() -> bool:
        return "Market day: 9 of 10 delivered" in await page.evaluate("window.notified")  # the demo's own may end too

    await until(is_told)


async def see_every_page(watched: Watched) -> None:
    """As they are by now, with what the demo and the walk put into them."""
    for path in PAGES:
        await watched.go(path)
        await see(watched)


async def see(watched: Watched) -> None:
    """In light and dark, on a desktop and on a phone: nothing is wrong, and nothing is wider than the screen."""
    page = watched.page
    for width, height, scheme in reversed(LOOKS):
        await page.set_viewport_size({"width": width, "height": height})
        await page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
        assert await watched.problems() == [], (page.url, scheme)
        assert await watched.too_wide() == 0, (page.url, scheme)


async def try_what_it_printed(demo: Demo) -> None:
    """Each command for another terminal works, but for the one that never ends."""
    printed = re.findall(r"^  \S+tidegate (.+?) +#", demo.said, re.MULTILINE)
    assert len(printed) == 7
    for command in printed:
        if "--follow" not in command:
            assert await demo.run(*command.split())
    run = json.loads(await demo.run("runs", "show", "1", "--json"))
    assert (sum(run["counts"].values()), run["uploads"]) == (80, 1)
    assert json.loads(await demo.run("plan", "ada", "--json"))["calls_at_least"] == 1
