"""WhatsApp's words in ours."""

from __future__ import annotations

from typing import Any

from tidegate.platforms.whatsapp.group_ids import number_of
from tidegate.platforms.whatsapp.translation import addresses_of, arrived_of, heads_of

ME = "6281200000001"
OLD = "6281200000009-1500000000@g.us"


def group(name: str, address: str = "120363000000000001@g.us", **more: Any) -> dict[str, Any]:
    return {"id": address, "name": name, "announce": False, "community": False, "members": [], **more}


def may_post(told: dict[str, Any]) -> bool:
    (head,) = heads_of([told], ME).values()
    assert head.channel is not None
    return head.channel.may_post


class TestGroups:
    def test_where_only_admins_post(self) -> None:
        """D-40: an announcement group is flagged unless the account administers it, by its number or by its alias."""
        assert may_post(group("open"))
        assert not may_post(group("news", announce=True, members=[[ME, "", False], ["62899", "", True]]))
        assert may_post(group("news", announce=True, members=[[ME, "", True]]))
        assert may_post(group("news", announce=True, members=[["alias", ME, True]]))

    def test_the_parent_of_a_community_is_no_target(self) -> None:
        """It lists other groups, and nobody writes there."""
        assert heads_of([group("parent", community=True)], ME) == {}

    def test_an_old_group_can_be_sent_to(self) -> None:
        """Its number is ours, so its address is remembered."""
        assert addresses_of([group("old", OLD)]) == {number_of(OLD): OLD}

    def test_a_group_without_a_name_goes_by_its_address(self) -> None:
        """An operator has to be able to name it."""
        (head,) = heads_of([group("")], ME).values()
        assert head.channel is not None
        assert head.channel.title == "120363000000000001@g.us"


def test_a_receipt_is_no_older_than_what_it_speaks_of() -> None:
    """D-22: WhatsApp tells whole seconds, and a message sent late in one of them must not seem younger."""
    arrived = arrived_of({"chat": OLD, "message": "3EB0", "at": 1_800_000_000})
    assert (arrived.channel, arrived.message) == (number_of(OLD), "3EB0")
    assert arrived.at.timestamp() == 1_800_000_001
