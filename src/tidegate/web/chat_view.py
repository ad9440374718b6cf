"""A channel's messages as a chat: albums as one, days, topics and authors once, texts as markup.

Flags of a message compare it with the one before it on the same page. The page's script sets them again when it puts
pages together, and for days in the browser's time zone.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, timedelta
from itertools import pairwise
from types import MappingProxyType

from markupsafe import Markup

from tidegate.core.ids import ChannelKey, MessageId, UserId
from tidegate.core.message_content import MessageContent, MessageKind, Reply, TextSpan
from tidegate.core.platform import Platform
from tidegate.core.rules.markdown_text import formatted as read_markdown
from tidegate.history.queries.timeline import AttachedFile, TimelineMessage
from tidegate.history.rules.content_summary import file_form, file_words
from tidegate.platforms.interface import FileRole
from tidegate.web.media_view import ShownMedia, media_of_attached
from tidegate.web.rules.formatted_text import bare_links, cut_spans, formatted
from tidegate.web.rules.message_details import DetailLine, detail_lines, service_words

TOGETHER = timedelta(minutes=10)
"""Messages of one author within this time are shown as one group."""

LINES = 25
"""Lines of a text that are shown at once; the rest of it unfolds."""

WHOLE = 20_000
"""Characters of a text on a page of many; a longer one can be read whole on a page of its own."""

_UNSHOWN = (FileRole.COVER, FileRole.EMOJI, FileRole.REACTION)  # a part of another file, or of the text

_NO_EMOJI: Mapping[str, str] = MappingProxyType({})

_LINE = 100
_QUOTED = 200


@dataclass(frozen=True, slots=True)
class ShownText:
    """A text as markup."""

    head: Markup
    rest: Markup  # what unfolds
    cut: bool  # whether it continues on a page of its own


@dataclass(frozen=True, slots=True)
class ShownFile:
    """A file of a message."""

    file: AttachedFile
    form: str  # such as photo
    words: str  # its length and name
    media: ShownMedia  # what the page shows of it


@dataclass(frozen=True, slots=True)
class ShownReply:
    """What a message answers: whose words they were, the words, and which message they lead to."""

    author: str
    text: str
    note: str = ""
    message: MessageId | None = None  # none where it is not stored
    channel: ChannelKey | None = None  # where it is in another channel


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A message, or an album as one, as the chat shows it. *captions* are the texts of the album's other parts."""

    one: TimelineMessage
    parts: Sequence[TimelineMessage]
    text: ShownText
    reply: ShownReply | None
    files: Sequence[ShownFile]
    details: Sequence[DetailLine]
    announced: str
    version: str  # changes with everything that is shown of it
    new_day: bool = True
    same_author: bool = False
    same_topic: bool = False
    emoji: Mapping[str, str] = field(default_factory=dict)  # addresses of pictures by the numbers of custom emoji
    captions: Sequence[tuple[MessageId, ShownText]] = ()

    @property
    def reactions(self) -> Mapping[str, int]:
        """How many people reacted with what, to any part of it."""
        counts: Counter[str] = Counter()
        for part in self.parts:
            counts.update(part.reactions)
        return counts

    @property
    def is_pinned(self) -> bool:
        return any("pinned" in part.stored.content.marks for part in self.parts)

    def picture_of(self, reaction: str) -> str:
        """Where the picture of a reaction is; empty where none is kept."""
        return self.emoji.get(emoji_key(reaction), "")

    @property
    def content(self) -> MessageContent:
        return self.one.stored.content

    @property
    def is_blank(self) -> bool:
        """Whether it has nothing that is shown, such as a control without a label."""
        content, one = self.content, self.one
        written = one.text or self.announced or content.texts or content.forward or content.unsupported
        return not (
            written or self.files or self.details or one.thread or content.poll or content.embeds or content.preview
        )

    @property
    def author_key(self) -> str:
        """Equal for messages of one author; what the platform announces itself stands alone."""
        one = self.one
        return f"announced {one.id}" if self.announced else f"{one.author_id} {one.author}"


@dataclass(frozen=True, slots=True)
class ChatReader:
    """How messages of a channel are shown."""

    platform: Platform
    people_at: str  # where people of the platform have their pages
    key: ChannelKey
    whole: bool = False
    pictured: frozenset[UserId] = frozenset()
    path: Callable[[str], str] = str  # puts the site's own path before an address

    def chat(self, messages: Iterable[TimelineMessage]) -> list[ChatMessage]:
        """Messages as a chat, in their order."""
        shown = [self._message(parts) for parts in _albums(messages)]
        return [_beside(before, one) for before, one in pairwise([None, *shown]) if one is not None]

    def text(
        self,
        text: str,
        formatting: Sequence[TextSpan] = (),
        mentions: Mapping[str, str] | None = None,
        emoji: Mapping[str, str] = _NO_EMOJI,
    ) -> ShownText:
        """A text with its formatting, links and pictures of *emoji*, folded where it is long."""
        if self.platform.writes_markdown:
            text, formatting = read_markdown(text, mentions)
        spans = [*formatting, *bare_links(text, formatting)]
        most = len(text) if self.whole else WHOLE
        fold = len(text) if self.whole else fold_at(text)
        return ShownText(
            formatted(text[:fold], cut_spans(spans, 0, fold), people_at=self.people_at, emoji=emoji),
            formatted(text[fold:most], cut_spans(spans, fold, most), people_at=self.people_at, emoji=emoji),
            len(text) > most,
        )

    def plain(self, text: str, mentions: Mapping[str, str] | None = None) -> str:
        """A text without its marks, for a quotation in one line."""
        return read_markdown(text, mentions)[0] if self.platform.writes_markdown else text

    def _message(self, parts: Sequence[TimelineMessage]) -> ChatMessage:
        lead = next((one for one in parts if one.text), parts[0])
        content = lead.stored.content
        files = [self._file(one, file) for one in parts for file in one.files if file.role not in _UNSHOWN]
        emoji = {number: address for part in parts for number, address in self._emoji(part).items()}
        return ChatMessage(
            lead,
            parts,
            self._text(lead, emoji),
            self._reply(lead),
            [one for one in files if one.file.role == FileRole.OWN or one.media.can_be_seen],
            detail_lines(lead.stored.kind, content.details),
            _announced(lead),
            f"{zlib.crc32(repr(parts).encode('utf-8', 'replace')):x}",
            emoji=emoji,
            captions=[(part.id, self._text(part, emoji)) for part in parts if part.text and part is not lead],
        )

    def _text(self, one: TimelineMessage, emoji: Mapping[str, str]) -> ShownText:
        content = one.stored.content
        return self.text(one.text, content.formatting, content.mentions, emoji)

    def _emoji(self, one: TimelineMessage) -> Mapping[str, str]:
        """Where the pictures of a message's custom emoji are, by their numbers; stills, so that nothing moves."""
        named = [file for file in one.files if file.role in (FileRole.EMOJI, FileRole.REACTION)]
        shown = {emoji_key(file.name): media_of_attached(self.key, one.id, file).thumbnail for file in named}
        return {number: self.path(address) for number, address in shown.items() if number and address}

    def _file(self, one: TimelineMessage, file: AttachedFile) -> ShownFile:
        form = file_form(file)
        words = file_words(file, one.stored.content.details or {}).removeprefix(form).strip()
        return ShownFile(file, form, words, media_of_attached(self.key, one.id, file))

    def _reply(self, one: TimelineMessage) -> ShownReply | None:
        more = one.stored.content.reply or Reply()
        if more.channel is not None:
            return self._reply_elsewhere(one, more)
        answered = one.answered
        author = more.author or ("" if answered is None else answered.author)
        if answered is None and not more.quote:
            gone = "a deleted message" if more.gone else "a message that is not stored"
            note = gone if more.story is None else "a story"
            return None if one.reply_to is None and more == Reply() else ShownReply(author, "", note)
        said = more.quote or ("" if answered is None else answered.text)
        names = None if answered is None else answered.mentions
        note = "deleted message" if answered is not None and answered.deleted else ""
        kind = "" if answered is None or answered.kind == MessageKind.TEXT else answered.kind
        return ShownReply(author, self.plain(said, names)[:_QUOTED] or kind, note, one.reply_to)

    def _reply_elsewhere(self, one: TimelineMessage, more: Reply) -> ShownReply:
        """A message of another chat; one that is known here leads there."""
        place = one.reply_place
        title = "another chat" if place is None or not place.title else place.title
        key = None if place is None else place.key
        message = None if key is None else more.message
        return ShownReply(more.author, self.plain(more.quote)[:_QUOTED], f"in {title}", message, key)


def emoji_key(name: str) -> str:
    """The number in the name of a custom emoji, as files and reactions are named (``name:number``); empty without."""
    number = name.rpartition(":")[2]
    return number if number != name and number.isdecimal() else ""


def fold_at(text: str) -> int:
    """Where a long text folds: after so many lines, at the end of a line or of a word."""
    lines, at = 0, 0
    for line in text.splitlines(keepends=True):
        lines += 1 + len(line) // _LINE
        if lines > LINES and at:
            return at
        at += len(line)
        if lines > LINES:
            break
    longest = LINES * _LINE
    if at <= longest:
        return len(text)
    space = text.rfind(" ", longest // 2, longest)
    return longest if space < 0 else space


def _albums(messages: Iterable[TimelineMessage]) -> Iterator[list[TimelineMessage]]:
    """Messages that were posted as one, together."""
    album: list[TimelineMessage] = []
    for one in messages:
        if album and (one.album is None or one.album != album[-1].album or _is_gone(one) != _is_gone(album[-1])):
            yield album
            album = []
        album.append(one)
    if album:
        yield album


def _is_gone(one: TimelineMessage) -> bool:
    return one.deleted_at is not None


def _announced(one: TimelineMessage) -> str:
    """What the platform announced, in words; empty for a person's message."""
    return one.stored.content.service or (service_words(one.service) if one.service else "")


def _beside(before: ChatMessage | None, shown: ChatMessage) -> ChatMessage:
    """A message with its flags, after the one *before* it."""
    if before is None:
        return shown
    last, first = before.parts[-1], shown.parts[0]
    new_day = last.at.astimezone(UTC).date() != first.at.astimezone(UTC).date()
    same_topic = last.topic == first.topic
    same = not new_day and same_topic and before.author_key == shown.author_key and first.at - last.at <= TOGETHER
    return replace(shown, new_day=new_day, same_topic=same_topic, same_author=same)
