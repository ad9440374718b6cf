"""Requests of the operator about files: changes of the policy, and the accounts that fetch files."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.accounts.queries import accounts
from tidegate.channels.queries import channels
from tidegate.core.account import Account
from tidegate.core.byte_sizes import parse_size
from tidegate.core.errors import BadInput
from tidegate.core.ids import AccountId, ChannelKey
from tidegate.database.pool import Connection
from tidegate.events.kinds.media import MediaPolicyChanged
from tidegate.events.queries import feed
from tidegate.media.queries import media_pauses, media_rules
from tidegate.media.rules.media_policy import MediaAction, MediaRule, PolicyKind

_AUTOMATIC = "auto"


@dataclass(frozen=True, slots=True)
class PolicyRequest:
    """A change of the policy as an operator writes it; None leaves a value as it is."""

    account: str | None = None  # its name
    channel: str | None = None  # its number or title
    kind: str | None = None
    action: str | None = None
    largest: str | None = None  # the limit for one file
    beyond: str | None = None  # what is done with larger ones
    channel_limit: str | None = None  # for all files of a channel
    total_limit: str | None = None  # for all files together
    enabled: bool | None = None
    keep_protected: bool | None = None
    reset: bool = False

    @property
    def sets_rule(self) -> bool:
        return any(one is not None for one in (self.action, self.largest, self.beyond, self.channel_limit))

    @property
    def sets_state(self) -> bool:
        return any(one is not None for one in (self.total_limit, self.enabled, self.keep_protected))


async def change_policy(connection: Connection, asked: PolicyRequest) -> bool:
    """Change the policy, with its event; False when nothing was asked for. Bad input changes nothing."""
    if not (asked.sets_rule or asked.sets_state or asked.reset):
        if asked.account or asked.channel or asked.kind:
            raise BadInput("Say what is to be done with these files: --action, --largest, --channel-limit or --reset.")
        return False
    if asked.account is not None and asked.channel is not None:
        raise BadInput("A rule is for an account or for a channel; name one of them.")
    account = None if asked.account is None else (await accounts.find(connection, asked.account)).account.id
    named = None if asked.channel is None else await channels.find(connection, asked.channel)
    channel = None if named is None else named.key
    rule = _rule(asked, account, channel)
    if asked.reset:
        await media_rules.drop_rules(connection, account=account, channel=channel, kind=rule.kind)
    if asked.sets_rule:
        await media_rules.set_rule(connection, rule)
    if asked.sets_state:
        limit = None if asked.total_limit in (None, _AUTOMATIC) else _size(asked.total_limit, "--total-limit")
        await media_rules.set_state(
            connection,
            enabled=asked.enabled,
            total_limit=limit,
            automatic_limit=asked.total_limit == _AUTOMATIC,
            keep_protected=asked.keep_protected,
        )
    if asked.enabled is False:
        await media_pauses.clear_all(connection)
    policy = await media_rules.policy(connection)
    subject = asked.channel or asked.account or "all"
    number = None if named is None else named.number
    await feed.record(connection, subject, MediaPolicyChanged(enabled=policy.state.enabled, channel=number))
    return True


def _rule(asked: PolicyRequest, account: AccountId | None, channel: ChannelKey | None) -> MediaRule:
    return MediaRule(
        account=account,
        channel=channel,
        kind=None if asked.kind is None else PolicyKind(_one_of("kind", asked.kind, [one.value for one in PolicyKind])),
        action=_action("action", asked.action, [one.value for one in MediaAction]),
        largest=_size(asked.largest, "--largest"),
        beyond=_action("--beyond", asked.beyond, [MediaAction.THUMBNAIL.value, MediaAction.NO.value]),
        whole_limit=_size(asked.channel_limit, "--channel-limit"),
    )


def _action(option: str, written: str | None, allowed: list[str]) -> MediaAction | None:
    return None if written is None else MediaAction(_one_of(option, written, allowed))


def _one_of(option: str, written: str, allowed: list[str]) -> str:
    if written not in allowed:
        raise BadInput(f"{option} is one of {', '.join(allowed)}, and not {written!r}.")
    return written


def _size(written: str | None, option: str) -> int | None:
    try:
        return parse_size(int(written) if written is not None and written.isdecimal() else written)
    except ValueError as problem:
        raise BadInput(f"{option} is a size such as 20MB or 4GiB, and not {written!r}.") from problem


async def readers(connection: Connection, channel: ChannelKey | None) -> list[Account]:
    """The accounts whose channels have files to fetch, or that read one channel."""
    names = await media_rules.reader_names(connection, channel)
    return [(await accounts.find(connection, name)).account for name in names]
