"""Signing in and out, and what a client asks before it does anything else."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from telethon.tl import TLObject, types

from tidegate.loopback.telegram import tl_shapes
from tidegate.loopback.telegram.method_context import Answer, Method, Refusal, Request
from tidegate.loopback.telegram.srp_passwords import offer_password, password_fits
from tidegate.loopback.telegram.world.file_content import HOME, NETWORK
from tidegate.loopback.telegram.world.world import Account

CODE_LENGTH = 5


def get_config(request: Request) -> Answer:
    places = [(number, *address.rpartition(":")[::2]) for number, address in request.centres.items()]
    now = request.world.clock.now()
    return types.Config(
        now,
        now + timedelta(hours=1),
        test_mode=False,
        this_dc=request.sign_in.centre,
        dc_options=[
            types.DcOption(number, host, int(port), static=True, cdn=number == NETWORK or None)
            for number, host, port in places
        ],
        dc_txt_domain_name="",
        **dict.fromkeys(_NUMBERS_OF_CONFIG, 0),
        me_url_prefix="",
        caption_length_max=1024,
        message_length_max=4096,
        webfile_dc_id=HOME,
    )


_NUMBERS_OF_CONFIG = (
    "chat_size_max",
    "megagroup_size_max",
    "forwarded_count_max",
    "online_update_period_ms",
    "offline_blur_timeout_ms",
    "offline_idle_timeout_ms",
    "online_cloud_timeout_ms",
    "notify_cloud_delay_ms",
    "notify_default_delay_ms",
    "push_chat_period_ms",
    "push_chat_limit",
    "edit_time_limit",
    "revoke_time_limit",
    "revoke_pm_time_limit",
    "rating_e_decay",
    "stickers_recent_limit",
    "channels_read_media_period",
    "call_receive_timeout_ms",
    "call_ring_timeout_ms",
    "call_connect_timeout_ms",
    "call_packet_timeout_ms",
)  # fmt: skip - the schema wants them all and no client we know reads them


def get_app_config(request: Request) -> Answer:
    limits = request.world.limits
    known = {
        "upload_max_fileparts_default": limits.parts,
        "upload_max_fileparts_premium": limits.parts_premium,
        "dialogs_pinned_limit_default": 5,
    }
    values = [types.JsonObjectValue(name, types.JsonNumber(float(value))) for name, value in known.items()]
    return types.help.AppConfig(hash=1, config=types.JsonObject(values))


def send_code(request: Request) -> Answer:
    account = request.world.account_by_phone(request.query.phone_number)
    if account is None:
        raise Refusal(400, "PHONE_NUMBER_INVALID")
    account.codes_sent += 1
    token = request.world.token("code", account.phone, account.codes_sent)
    account.code = f"{abs(token) % 10**CODE_LENGTH:0{CODE_LENGTH}}"
    return types.auth.SentCode(types.auth.SentCodeTypeApp(CODE_LENGTH), _code_hash(request, account))


def sign_in(request: Request) -> Answer:
    query = request.query
    account = request.world.account_by_phone(query.phone_number)
    if account is None:
        raise Refusal(400, "PHONE_NUMBER_INVALID")
    if not account.code or query.phone_code_hash != _code_hash(request, account):
        raise Refusal(400, "PHONE_CODE_EXPIRED")
    if query.phone_code != account.code:
        raise Refusal(400, "PHONE_CODE_INVALID")
    account.code = ""
    if account.password:
        request.sign_in.half = account.id
        raise Refusal(401, "SESSION_PASSWORD_NEEDED")
    return _welcome(request, account)


def get_password(request: Request) -> Answer:
    return offer_password(request.world, _half_signed_in(request))


def check_password(request: Request) -> Answer:
    account = _half_signed_in(request)
    if not account.password or not password_fits(request.world, account, request.query.password):
        raise Refusal(400, "PASSWORD_HASH_INVALID")
    return _welcome(request, account)


def log_out(request: Request) -> Answer:
    _ = request.account  # refused when no account is signed in
    request.sign_in.account = 0
    return types.auth.LoggedOut()


def export_authorization(request: Request) -> Answer:
    """A token with which another data centre recognises the account."""
    if request.query.dc_id not in request.centres or request.query.dc_id == NETWORK:
        raise Refusal(400, "DC_ID_INVALID")
    return types.auth.ExportedAuthorization(request.account.id, _word(request, request.account.id))


def import_authorization(request: Request) -> Answer:
    account = request.world.accounts.get(request.query.id)
    if account is None or request.query.bytes != _word(request, account.id):
        raise Refusal(400, "AUTH_BYTES_INVALID")
    return _welcome(request, account)


def get_users(request: Request) -> Answer:
    return [_one_user(request, asked) for asked in request.query.id]


def get_state(request: Request) -> Answer:
    _ = request.account
    return state(request)


def state(request: Request) -> types.updates.State:
    pts = request.world.chats.box(request.account.id).pts
    return types.updates.State(pts=pts, qts=1, date=request.world.clock.now(), seq=1, unread_count=0)


def _one_user(request: Request, asked: Any) -> TLObject:
    if isinstance(asked, types.InputUserSelf) or getattr(asked, "user_id", 0) == request.account.id:
        return tl_shapes.user(request.account, is_self=True)
    number = getattr(asked, "user_id", 0)
    if other := request.world.accounts.get(number):
        return tl_shapes.user(other, is_self=False)
    person = request.world.people.get(number)
    if person is None or asked.access_hash != request.world.token("user", request.account.id, number):
        return types.UserEmpty(number)
    return tl_shapes.person(request.world, person, request.account)


def _half_signed_in(request: Request) -> Account:
    sign_in = request.sign_in
    account = request.world.accounts.get(sign_in.account or sign_in.half)
    if account is None:
        raise Refusal(401, "AUTH_KEY_UNREGISTERED")
    return account


def _welcome(request: Request, account: Account) -> Answer:
    request.sign_in.account, request.sign_in.half = account.id, 0
    return types.auth.Authorization(tl_shapes.user(account, is_self=True))


def _word(request: Request, account: int) -> bytes:
    return str(request.world.token("word", account)).encode()


def _code_hash(request: Request, account: Account) -> str:
    return f"{request.world.token('code hash', account.phone, account.codes_sent):x}"


METHODS: dict[str, Method] = {
    "help.getConfig": get_config,
    "help.getAppConfig": get_app_config,
    "auth.sendCode": send_code,
    "auth.signIn": sign_in,
    "auth.checkPassword": check_password,
    "auth.logOut": log_out,
    "auth.exportAuthorization": export_authorization,
    "auth.importAuthorization": import_authorization,
    "account.getPassword": get_password,
    "users.getUsers": get_users,
    "updates.getState": get_state,
}
