"""One message of each kind, with content from the seed: what somebody could have posted."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from telethon.tl import TLObject, types

from tidegate.core.errors import BadInput
from tidegate.loopback.telegram.tl_objects.samples import Samples
from tidegate.loopback.telegram.tl_objects.tl_schema import classes_like
from tidegate.loopback.telegram.world.content.custom_emoji import know_emoji, lottie
from tidegate.loopback.telegram.world.content.scene import NOUNS, Draft, Scene
from tidegate.loopback.telegram.world.content.service_messages import ACTIONS, service_fields

_DAY = timedelta(days=1)
_WEBP = b64decode("UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==")


def kind_names() -> list[str]:
    """Every kind there is: messages first, then service messages."""
    return [*KINDS, *ACTIONS]


def draft(scene: Scene, kind: str) -> list[Draft]:
    """The messages of one kind, mostly one; BadInput when there is no such kind."""
    if kind in KINDS:
        made = KINDS[kind](scene)
        return made if isinstance(made, list) else [made]
    if kind not in ACTIONS:
        raise BadInput(f'There is no kind "{kind}" of messages; there are {", ".join(kind_names())}.')
    return [Draft(fields=service_fields(scene, kind))]


def _rich(text: str) -> types.TextWithEntities:
    return types.TextWithEntities(text, [])


def _media(media: TLObject, text: str = "", **fields: Any) -> Draft:
    return Draft(text, {"media": media, **fields})


def _text(scene: Scene) -> Draft:
    return Draft(scene.words(9))


_PIECES = {
    "url": "https://example.com/a?b=1",
    "mention": "@mira",
    "hashtag": "#harbour",
    "cashtag": "$TIDE",
    "botcommand": "/start",
    "email": "mira@example.com",
    "phone": "+10000000009",
}


def _formatted(scene: Scene) -> Draft:
    """A piece of text in every formatting there is, each after an emoji, which counts as two in offsets."""
    samples = Samples(scene.dice, people=[scene.mira.id])
    text, entities = "", []
    for kind in classes_like("MessageEntity"):
        name = kind.__name__.removeprefix("MessageEntity").lower()
        piece = _PIECES.get(name, name)
        offset = len((text + "🌊 ").encode("utf-16-le")) // 2
        text += f"🌊 {piece} "
        given: dict[str, Any] = {"offset": offset, "length": len(piece)}
        if kind is types.MessageEntityCustomEmoji:
            given["document_id"] = know_emoji(scene.world, scene.number).id
        if kind is types.MessageEntityPre:
            given["language"] = "python"
        if kind is types.MessageEntityTextUrl:
            given["url"] = "https://example.com/behind"
        entities.append(samples.of(kind, **given))
    return Draft(text.rstrip(), {"entities": entities})


def _forward(scene: Scene) -> Draft:
    source = types.PeerChannel(scene.far_news.id)
    post = scene.dice.randrange(1, 5000)
    header = types.MessageFwdHeader(scene.date - _DAY, from_id=source, channel_post=post, post_author="Editor")
    return Draft(scene.words(8), {"fwd_from": header})


def _forward_person(scene: Scene) -> Draft:
    header = types.MessageFwdHeader(scene.date - _DAY, from_id=types.PeerUser(scene.jonas.id))
    return Draft(scene.words(8), {"fwd_from": header})


def _forward_hidden(scene: Scene) -> Draft:
    header = types.MessageFwdHeader(scene.date - _DAY, from_name="Somebody who hides")
    return Draft(scene.words(8), {"fwd_from": header})


def _reply(scene: Scene) -> Draft:
    return Draft(scene.words(), {"reply_to": types.MessageReplyHeader(reply_to_msg_id=scene.channel.top)})


def _reply_quote(scene: Scene) -> Draft:
    quoted = next((held for held in reversed(scene.channel.messages.values()) if held.text), None)
    text = (quoted.text if quoted else "nothing")[:20]
    header = types.MessageReplyHeader(
        quote=True,
        reply_to_msg_id=quoted.id if quoted else scene.channel.top,
        quote_text=text,
        quote_entities=[types.MessageEntityBold(0, min(4, len(text)))],
        quote_offset=0,
    )
    return Draft(scene.words(), {"reply_to": header})


def _reply_elsewhere(scene: Scene) -> Draft:
    source = types.PeerChannel(scene.far_news.id)
    header = types.MessageReplyHeader(
        quote=True,
        reply_to_msg_id=scene.dice.randrange(1, 5000),
        reply_to_peer_id=source,
        reply_from=types.MessageFwdHeader(scene.date - _DAY, from_id=source, channel_post=7),
        reply_media=types.MessageMediaPhoto(photo=scene.photo()),
        quote_text=scene.words(3),
    )
    return Draft(scene.words(), {"reply_to": header})


def _reply_story(scene: Scene) -> Draft:
    return Draft(scene.words(), {"reply_to": types.MessageReplyStoryHeader(types.PeerUser(scene.mira.id), 12)})


def _reactions(scene: Scene) -> Draft:
    custom = know_emoji(scene.world, scene.number)
    results = [
        types.ReactionCount(types.ReactionPaid(), 50),
        types.ReactionCount(types.ReactionEmoji("👍"), 12),
        types.ReactionCount(types.ReactionEmoji("❤"), 4),
        types.ReactionCount(types.ReactionCustomEmoji(custom.id), 2),
    ]
    recent = types.MessagePeerReaction(types.PeerUser(scene.mira.id), scene.date, types.ReactionEmoji("👍"))
    held = types.MessageReactions(results, can_see_list=True, recent_reactions=[recent])
    return Draft(scene.words(), {"reactions": held})


def _answers(scene: Scene, *words: str) -> list[types.PollAnswer]:
    return [types.PollAnswer(_rich(word), bytes([48 + place])) for place, word in enumerate(words)]


def _poll(scene: Scene) -> Draft:
    answers = _answers(scene, "Yes", "No", "Ask again on Friday")
    question = _rich(f"Shall we paint the {scene.dice.choice(NOUNS)}?")
    poll = types.Poll(scene.number, question, answers, 0, public_voters=True, multiple_choice=True)
    counts = [scene.dice.randrange(1, 40) for _ in answers]
    rows = [
        types.PollAnswerVoters(answer.option, voters=count, recent_voters=[])
        for answer, count in zip(answers, counts, strict=True)
    ]
    return _media(types.MessageMediaPoll(poll, types.PollResults(results=rows, total_voters=sum(counts) - 1)))


def _quiz(scene: Scene) -> Draft:
    answers = _answers(scene, "Seven", "Eight")
    poll = types.Poll(scene.number, _rich("How many seas are there?"), answers, 0, quiz=True, closed=True)
    rows = [
        types.PollAnswerVoters(answers[0].option, correct=True, voters=9, recent_voters=[]),
        types.PollAnswerVoters(answers[1].option, voters=4, recent_voters=[]),
    ]
    solution = {"solution": "Seven, they say.", "solution_entities": [types.MessageEntityItalic(0, 5)]}
    return _media(types.MessageMediaPoll(poll, types.PollResults(results=rows, total_voters=13, **solution)))


def web_page(scene: Scene, url: str) -> types.WebPage:
    """The preview of a link, with a picture."""
    title, about = scene.words(4), scene.words(14)
    return types.WebPage(scene.number, url, url.partition("//")[2], 0, type="article", site_name="Example",
                         title=title, description=about, photo=scene.photo(), author="Mira Okafor")  # fmt: skip


def _link(scene: Scene) -> Draft:
    url = f"https://example.com/{scene.dice.choice(NOUNS)}"
    page = types.MessageMediaWebPage(web_page(scene, url))
    return _media(page, f"Read {url}", entities=[types.MessageEntityUrl(5, len(url))])


def _link_pending(scene: Scene) -> Draft:
    url = f"https://example.com/{scene.dice.choice(NOUNS)}"
    page = types.MessageMediaWebPage(types.WebPagePending(scene.number, scene.date, url=url))
    return _media(page, f"Read {url}", entities=[types.MessageEntityUrl(5, len(url))])


def _photo(scene: Scene) -> Draft:
    return _media(types.MessageMediaPhoto(photo=scene.photo()), scene.words())


def _spoiler(scene: Scene) -> Draft:
    return _media(types.MessageMediaPhoto(photo=scene.photo(), spoiler=True), scene.words())


def _album(scene: Scene) -> list[Draft]:
    made = [_media(types.MessageMediaPhoto(photo=scene.photo())) for _ in range(3)]
    made[0].text = scene.words()
    for one in made:
        one.album = True
    return made


_MP4 = b"\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom"
_OGG = b"OggS\x00\x02" + bytes(20) + b"\x01\x13OpusHead\x01\x01"
_WEBM = (
    b"\x1aE\xdf\xa3\x01\x00\x00\x00\x00\x00\x00\x1fB\x86\x81\x01B\xf7\x81\x01B\xf2\x81\x04B\xf3\x81\x08B\x82\x84webm"
)


def _video(scene: Scene) -> Draft:
    attribute = types.DocumentAttributeVideo(12.5, 1280, 720, supports_streaming=True)
    held = scene.document("crossing.mp4", "video/mp4", _MP4, attribute, size=90_000, preview=True)
    return _media(types.MessageMediaDocument(document=held, video=True), scene.words())


def _round(scene: Scene) -> Draft:
    attribute = types.DocumentAttributeVideo(4.0, 384, 384, round_message=True)
    held = scene.document("", "video/mp4", _MP4, attribute, size=40_000, preview=True)
    return _media(types.MessageMediaDocument(document=held, video=True, round=True), media_unread=True)


def _voice(scene: Scene) -> Draft:
    attribute = types.DocumentAttributeAudio(7, voice=True, waveform=scene.dice.randbytes(63))
    held = scene.document("", "audio/ogg", _OGG, attribute, size=12_000)
    return _media(types.MessageMediaDocument(document=held, voice=True), media_unread=True)


def _audio(scene: Scene) -> Draft:
    attribute = types.DocumentAttributeAudio(183, title="Low Tide", performer="The Anchors")
    held = scene.document("low-tide.mp3", "audio/mpeg", b"ID3\x03\x00", attribute, size=60_000)
    return _media(types.MessageMediaDocument(document=held))


def _animation(scene: Scene) -> Draft:
    video = types.DocumentAttributeVideo(2.0, 320, 180, nosound=True)
    held = scene.document(
        "wave.gif.mp4", "video/mp4", _MP4, video, types.DocumentAttributeAnimated(), size=20_000, preview=True
    )
    return _media(types.MessageMediaDocument(document=held))


def _document(scene: Scene) -> Draft:
    held = scene.document("tides.csv", "text/csv", b"day,high,low\n1,4.2,0.7\n")
    return _media(types.MessageMediaDocument(document=held), scene.words())


def _sticker_of(name: str, mime: str, content: bytes, *more: TLObject) -> Callable[[Scene], Draft]:
    def make(scene: Scene) -> Draft:
        sticker = types.DocumentAttributeSticker("⚓", types.InputStickerSetID(scene.number, 0))
        size, moves = types.DocumentAttributeImageSize(512, 512), mime != "image/webp"
        held = scene.document(name, mime, content, size, sticker, *more, preview=moves)
        return _media(types.MessageMediaDocument(document=held))

    return make


def _contact(scene: Scene) -> Draft:
    card = "BEGIN:VCARD\nVERSION:3.0\nFN:Jonas Lind\nTEL:+10000000009\nEND:VCARD"
    return _media(types.MessageMediaContact("10000000009", "Jonas", "Lind", card, scene.jonas.id))


def _point(scene: Scene) -> types.GeoPoint:
    return types.GeoPoint(scene.dice.randrange(-700, 700) / 8, scene.dice.randrange(-300, 300) / 8, 0)


def _geo(scene: Scene) -> Draft:
    return _media(types.MessageMediaGeo(_point(scene)))


def _geo_live(scene: Scene) -> Draft:
    return _media(types.MessageMediaGeoLive(_point(scene), 900, heading=45, proximity_notification_radius=200))


def _venue(scene: Scene) -> Draft:
    place = types.MessageMediaVenue(_point(scene), "The Old Pier", "1 Quay Street", "foursquare", "4b1", "arts/pier")
    return _media(place)


def _dice(scene: Scene) -> Draft:
    return _media(types.MessageMediaDice(scene.dice.randrange(1, 7), "🎲"))


def _game(scene: Scene) -> Draft:
    game = types.Game(scene.number, 0, "tide_run", "Tide Run", "Outrun the tide.", scene.photo())
    return _media(types.MessageMediaGame(game), via_bot_id=scene.bot.id, from_id=types.PeerUser(scene.bot.id))


def _invoice(scene: Scene) -> Draft:
    address = f"https://example.com/lamp-{scene.number}.jpg"
    image = types.WebDocument(address, 0, 4000, "image/jpeg", [types.DocumentAttributeImageSize(90, 90)])
    return _media(types.MessageMediaInvoice("Lamp", "A harbour lamp", "EUR", 4900, "lamp", photo=image))


def _giveaway(scene: Scene) -> Draft:
    return _media(
        types.MessageMediaGiveaway(
            [scene.channel.id], 5, scene.date + 7 * _DAY, winners_are_visible=True, prize_description="Lamps", months=3
        )
    )


def _giveaway_results(scene: Scene) -> Draft:
    winners = [scene.mira.id, scene.jonas.id]
    prize = {"months": 3, "prize_description": "Lamps"}
    return _media(types.MessageMediaGiveawayResults(scene.channel.id, 1, 2, 0, winners, scene.date, **prize))


def _story(scene: Scene) -> Draft:
    media = types.MessageMediaPhoto(photo=scene.photo())
    item = types.StoryItem(12, scene.date - _DAY, scene.date, media, public=True, caption=scene.words())
    return _media(types.MessageMediaStory(types.PeerUser(scene.mira.id), 12, story=item))


def _todo(scene: Scene) -> Draft:
    items = [types.TodoItem(place + 1, _rich(word)) for place, word in enumerate(("Paint", "Sand", "Varnish"))]
    todo = types.TodoList(_rich("Before the season"), items, others_can_complete=True)
    done = types.TodoCompletion(2, types.PeerUser(scene.mira.id), scene.date)
    return _media(types.MessageMediaToDo(todo, completions=[done]))


def _paid_media(scene: Scene) -> Draft:
    hidden = types.MessageExtendedMediaPreview(w=800, h=600, thumb=types.PhotoStrippedSize("i", b"\x01\x28\x28"))
    return _media(types.MessageMediaPaidMedia(25, [hidden]), scene.words())


def _video_stream(scene: Scene) -> Draft:
    return _media(types.MessageMediaVideoStream(types.InputGroupCall(scene.number, 0)))


def _buttons(scene: Scene) -> Draft:
    buttons = [
        types.KeyboardInlineButton("Open", types.InlineButtonTypeUrl("https://example.com")),
        types.KeyboardInlineButton("More", types.InlineButtonTypeCallback(b"more")),
    ]
    markup = types.ReplyInlineMarkup([types.KeyboardInlineButtonRow(buttons)])
    return Draft(scene.words(), {"reply_markup": markup, "from_id": types.PeerUser(scene.bot.id)})


def _replies(scene: Scene) -> Draft:
    held = types.MessageReplies(6, 9, comments=True, recent_repliers=[types.PeerUser(scene.mira.id)],
                                channel_id=scene.far_news.id, max_id=44)  # fmt: skip
    return Draft(scene.words(), {"views": 1204, "forwards": 31, "replies": held})


def _with(**fields: Any) -> Callable[[Scene], Draft]:
    return lambda scene: Draft(scene.words(), dict(fields))


def _by(who: Callable[[Scene], int]) -> Callable[[Scene], Draft]:
    return lambda scene: Draft(scene.words(), {"from_id": types.PeerUser(who(scene))})


KINDS: Mapping[str, Callable[[Scene], Draft | list[Draft]]] = {
    "text": _text,
    "formatted": _formatted,
    "forward": _forward,
    "forward_person": _forward_person,
    "forward_hidden": _forward_hidden,
    "reply": _reply,
    "reply_quote": _reply_quote,
    "reply_elsewhere": _reply_elsewhere,
    "reply_story": _reply_story,
    "reactions": _reactions,
    "poll": _poll,
    "quiz": _quiz,
    "link": _link,
    "link_pending": _link_pending,
    "photo": _photo,
    "spoiler": _spoiler,
    "album": _album,
    "video": _video,
    "round": _round,
    "voice": _voice,
    "audio": _audio,
    "animation": _animation,
    "document": _document,
    "sticker": _sticker_of("sticker.webp", "image/webp", _WEBP),
    "sticker_animated": _sticker_of("AnimatedSticker.tgs", "application/x-tgsticker", lottie("anchor")),
    "sticker_video": _sticker_of(
        "sticker.webm", "video/webm", _WEBM, types.DocumentAttributeVideo(1.5, 512, 512, nosound=True)
    ),
    "contact": _contact,
    "geo": _geo,
    "geo_live": _geo_live,
    "venue": _venue,
    "dice": _dice,
    "game": _game,
    "invoice": _invoice,
    "giveaway": _giveaway,
    "giveaway_results": _giveaway_results,
    "story": _story,
    "todo": _todo,
    "paid_media": _paid_media,
    "video_stream": _video_stream,
    "unsupported": lambda _scene: _media(types.MessageMediaUnsupported()),
    "viewed": _replies,
    "via_bot": lambda scene: Draft(scene.words(), {"via_bot_id": scene.bot.id}),
    "buttons": _buttons,
    "pinned": _with(pinned=True),
    "edited": lambda scene: Draft(scene.words(), edited=True),
    "edited_hidden": lambda scene: Draft(scene.words(), {"edit_hide": True}, edited=True),
    "silent": _with(silent=True),
    "signed": _with(post_author="Mira Okafor"),
    "protected": _with(noforwards=True),
    "expiring": _with(ttl_period=315_360_000),  # ten years: worlds are dated in the past, where a day is over
    "effect": _with(effect=5_104_841_245_755_180_586),
    "fact_check": _with(factcheck=types.FactCheck(77, country="DE", text=types.TextWithEntities("Not so.", []))),
    "anonymous": lambda scene: Draft(scene.words(), {"from_id": types.PeerChannel(scene.channel.id)}),
    "by_person": _by(lambda scene: scene.mira.id),
    "by_bot": _by(lambda scene: scene.bot.id),
    "by_deleted": _by(lambda scene: scene.ghost.id),
}
"""How each kind of message is made."""
