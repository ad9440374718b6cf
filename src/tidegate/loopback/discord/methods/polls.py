"""Polls: who voted for an answer, and ending a poll of the bot's own."""

from __future__ import annotations

from tidegate.core.errors import BadInput
from tidegate.loopback.discord.method_context import Answer, Method, Refusal, Request
from tidegate.loopback.discord.methods.messages import shape
from tidegate.loopback.discord.methods.reactions import users_page
from tidegate.loopback.discord.world.messages.polls import end_poll
from tidegate.loopback.discord.world.permissions import Permission


def voters(request: Request) -> Answer:
    message = request.message(request.text_channel(Permission.READ_MESSAGE_HISTORY))
    if not isinstance(poll := message.fields.get("poll"), dict):
        raise Refusal(400, 50035, "Invalid Form Body")
    answers = {str(one.get("answer_id")) for one in poll.get("answers", ()) if isinstance(one, dict)}
    named = request.named["answer.id"]
    if named not in answers:
        raise Refusal(404, 10065, "Unknown poll answer")
    return {"users": users_page(request, message.poll.votes.get(int(named), []) if message.poll else [])}


def expire(request: Request) -> Answer:
    channel = request.text_channel(Permission.READ_MESSAGE_HISTORY)
    message = request.message(channel)
    if message.author != request.bot.id:
        raise Refusal(403, 50005, "Cannot edit a message authored by another user")
    try:
        end_poll(request.world, channel, message.id)
    except BadInput as problem:
        raise Refusal(400, 520001, "Poll expired") from problem
    return shape(request, channel, request.message(channel))


METHODS: dict[str, Method] = {
    "GET /channels/{channel.id}/polls/{message.id}/answers/{answer.id}": voters,
    "POST /channels/{channel.id}/polls/{message.id}/expire": expire,
}
