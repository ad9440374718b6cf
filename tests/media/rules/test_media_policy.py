"""Which files are kept, by the operator's rules and limits."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tidegate.core.ids import AccountId, ChannelKey
from tidegate.media.rules.media_policy import (
    DEFAULT_LARGEST,
    LARGEST_TOTAL,
    MB,
    REASONS,
    FilePart,
    MediaAction,
    MediaFacts,
    MediaPlace,
    MediaRule,
    MediaVerdict,
    PolicyKind,
    PolicyState,
    SkipReason,
    decide_file,
    kind_of,
    policy_for,
    sentence_of,
    total_limit,
)

ON = PolicyState(enabled=True)
HERE = MediaPlace(ChannelKey(1), AccountId(1), in_full=True)

sizes = st.integers(0, 4 << 30)
kinds = st.sampled_from(PolicyKind)
actions = st.none() | st.sampled_from(MediaAction)
rules = st.builds(
    MediaRule,
    account=st.none() | st.sampled_from([AccountId(1), AccountId(2)]),
    kind=st.none() | kinds,
    action=actions,
    largest=st.none() | sizes,
    beyond=st.none() | st.sampled_from([MediaAction.THUMBNAIL, MediaAction.NO]),
) | st.builds(
    MediaRule,
    channel=st.sampled_from([ChannelKey(1), ChannelKey(2)]),
    kind=st.none() | kinds,
    action=actions,
    largest=st.none() | sizes,
)
places = st.builds(
    MediaPlace,
    channel=st.just(ChannelKey(1)),
    reader=st.just(AccountId(1)),
    in_full=st.booleans(),
    keeps_archives=st.booleans(),
    protected=st.booleans(),
)
files = st.builds(
    MediaFacts,
    kind=kinds,
    size=sizes,
    protected=st.booleans(),
    fleeting=st.booleans(),
    archive_part=st.booleans(),
    thumbnail=st.none() | st.integers(0, MB),
)
states = st.builds(PolicyState, enabled=st.booleans(), keep_protected=st.booleans())


@given(state=states, some=st.lists(rules, max_size=6), place=places, file=files)
def test_every_file_is_wanted_or_has_a_reason(state, some, place, file):
    """No file is left without a verdict, and every reason is a sentence."""
    verdict = decide_file(state, some, place, file)
    assert verdict.wanted == (verdict.reason is None)
    if verdict.reason is not None:
        assert sentence_of(verdict.reason) == REASONS[verdict.reason]


@given(some=st.lists(rules, max_size=6), place=places, file=files)
def test_nothing_is_wanted_while_media_are_off(some, place, file):
    """A database that media are off for fetches nothing, whatever its rules say."""
    assert decide_file(PolicyState(enabled=False), some, place, file) == MediaVerdict(None, SkipReason.OFF)


@given(some=st.lists(rules, max_size=6), place=places, file=files)
def test_protected_and_fleeting_files_are_not_kept_by_default(some, place, file):
    """What its sender does not want to be saved is not saved, unless the operator says so."""
    if file.protected or file.fleeting or place.protected:
        assert not decide_file(ON, some, place, file).wanted


@given(some=st.lists(rules, max_size=6), place=places, file=files)
def test_no_whole_file_is_larger_than_its_limit(some, place, file):
    """Only parts of archives that the operator keeps may be larger than the limit for one file."""
    verdict = decide_file(ON, some, place, file)
    if verdict.part is FilePart.WHOLE and not (place.keeps_archives and file.archive_part):
        assert file.size <= policy_for(some, place, file.kind).largest


@given(some=st.lists(rules, max_size=6), file=files, keeps=st.booleans())
def test_a_channel_of_archives_alone_gives_nothing_but_archives(some, file, keeps):
    """Where only archives are mirrored, at most the parts of archives are fetched."""
    place = replace(HERE, in_full=False, keeps_archives=keeps)
    if decide_file(ON, some, place, file).wanted:
        assert keeps
        assert file.archive_part


@given(some=st.lists(rules, max_size=6), kind=kinds)
def test_the_narrowest_rule_decides(some, kind):
    """A rule for this channel and kind decides, whatever else there is."""
    own = MediaRule(channel=HERE.channel, kind=kind, action=MediaAction.NO, largest=7)
    others = [one for one in some if (one.channel, one.kind) != (own.channel, own.kind)]
    policy = policy_for([*others, own], HERE, kind)
    assert (policy.action, policy.largest) == (MediaAction.NO, 7)


@given(some=st.lists(rules, max_size=6, unique_by=lambda one: (one.account, one.channel, one.kind)), kind=kinds)
def test_the_order_of_rules_does_not_matter(some, kind):
    """Rules come from a table, which has no order."""
    assert policy_for(some, HERE, kind) == policy_for(some[::-1], HERE, kind)


def test_the_defaults_of_a_new_installation():
    """Everything up to 20 MB is kept; of a larger video a thumbnail, of other files nothing."""
    small = MediaFacts(PolicyKind.DOCUMENT, DEFAULT_LARGEST)
    assert decide_file(ON, [], HERE, small) == MediaVerdict(FilePart.WHOLE)
    large = MediaFacts(PolicyKind.VIDEO, DEFAULT_LARGEST + 1, thumbnail=2_000)
    assert decide_file(ON, [], HERE, large) == MediaVerdict(FilePart.THUMBNAIL)
    assert decide_file(ON, [], HERE, replace(large, thumbnail=None)).reason is SkipReason.NO_THUMBNAIL
    assert decide_file(ON, [], HERE, replace(large, kind=PolicyKind.DOCUMENT)).reason is SkipReason.SIZE


def test_archives_are_kept_on_request_whatever_their_size():
    """``channel enable --keep`` keeps large parts too, also where only archives are mirrored."""
    place = replace(HERE, in_full=False, keeps_archives=True)
    part = MediaFacts(PolicyKind.DOCUMENT, 4 << 30, archive_part=True)
    assert decide_file(ON, [], place, part) == MediaVerdict(FilePart.WHOLE)
    assert decide_file(ON, [], place, replace(part, archive_part=False)).reason is SkipReason.ARCHIVES_ONLY


@given(free=st.integers(0, 1 << 50), stored=st.integers(0, 1 << 40), wanted=st.none() | sizes)
def test_the_total_limit(free, stored, wanted):
    """The operator's limit is the limit; without one it is 10 GB, or a tenth of the disk where that is less."""
    limit = total_limit(replace(ON, total_limit=wanted), free=free, stored=stored)
    assert limit == wanted if wanted is not None else limit <= min(LARGEST_TOTAL, (free + stored) // 10)
    assert total_limit(ON, free=None, stored=stored) == LARGEST_TOTAL


@given(st.integers(0, 1 << 40), st.integers(0, 1 << 40))
def test_the_limit_does_not_shrink_while_files_arrive(free, arriving):
    """Bytes that move from the free disk to the store leave the limit as it is."""
    arriving = min(free, arriving)
    assert total_limit(ON, free=free, stored=0) == total_limit(ON, free=free - arriving, stored=arriving)


def test_kinds_of_files_that_an_earlier_version_stored():
    """Without a form, the kind and the type say what a file is."""
    assert kind_of(form="", kind="photo", mime="image/jpeg") is PolicyKind.PICTURE
    assert kind_of(form="", kind="media", mime="video/mp4") is PolicyKind.VIDEO
    assert kind_of(form="", kind="media", mime="audio/ogg") is PolicyKind.VOICE
    assert kind_of(form="", kind="document", mime="video/mp4") is PolicyKind.DOCUMENT
    assert kind_of(form="sticker", kind="media", mime="image/webp") is PolicyKind.STICKER
