"""The key ring: where keys come from, and what sealing promises."""

from __future__ import annotations

import base64
import stat
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.users import as_root, give
from tidegate.accounts import key_ring
from tidegate.accounts.key_ring import KeyRing, SecretOwner, parse
from tidegate.core.errors import BadInput, TidegateError
from tidegate.core.files.trusted_files import NotTrusted, make_folder

BOND = SecretOwner("secrets", 7, "session")
bonds = st.builds(SecretOwner, st.text(max_size=5), st.integers(0, 2**63 - 1), st.text(max_size=5))


def ring(*numbers: int) -> KeyRing:
    return parse("\n".join(line(number) for number in numbers), "the test")


def line(number: int) -> str:
    return f"key{number}:{base64.b64encode(bytes([number]) * 32).decode()}"


@given(plain=st.binary(max_size=200), bond=bonds)
def test_what_was_sealed_opens_again(plain: bytes, bond: SecretOwner) -> None:
    """A secret comes back as it was, for the row it was sealed for."""
    key_id, sealed = ring(1, 2).seal(plain, bond)
    assert key_id == "key1"
    assert ring(2, 1).open(key_id, sealed, bond) == plain


@given(bond=bonds, other=bonds)
def test_a_secret_opens_only_for_its_own_row(bond: SecretOwner, other: SecretOwner) -> None:
    """Table, account and name are part of the seal, and no two rows look alike to it."""
    key_id, sealed = ring(1).seal(b"token", bond)
    if bond != other:
        with pytest.raises(TidegateError, match="does not open"):
            ring(1).open(key_id, sealed, other)


@given(at=st.integers(0, 32), bit=st.integers(0, 7))
def test_a_changed_secret_does_not_open(at: int, bit: int) -> None:
    """One flipped bit anywhere is noticed."""
    key_id, sealed = ring(1).seal(b"token", BOND)
    changed = bytearray(sealed)
    changed[at] ^= 1 << bit
    with pytest.raises(TidegateError, match="does not open"):
        ring(1).open(key_id, bytes(changed), BOND)


@pytest.mark.parametrize("cut", [b"", b"short"])
def test_a_cut_off_secret_does_not_open(cut: bytes) -> None:
    """Too short to hold anything is a sentence too."""
    with pytest.raises(TidegateError, match="does not open"):
        ring(1).open("key1", cut, BOND)


def test_equal_secrets_look_different_when_sealed() -> None:
    """A nonce is never used twice."""
    assert ring(1).seal(b"token", BOND) != ring(1).seal(b"token", BOND)


def test_a_lost_key_is_named() -> None:
    """The sentence says which key to look for."""
    key_id, sealed = ring(1).seal(b"token", BOND)
    with pytest.raises(TidegateError, match=r'The key "key1" is missing.*account number 7'):
        ring(2).open(key_id, sealed, BOND)


def test_a_key_of_the_same_name_with_other_bytes_is_told() -> None:
    """A wrong key is not taken for damaged data alone."""
    key_id, sealed = ring(1).seal(b"token", BOND)
    other = parse("key1:" + line(2).partition(":")[2], "the test")
    with pytest.raises(TidegateError, match="not the one it was sealed with"):
        other.open(key_id, sealed, BOND)


@pytest.mark.parametrize(
    "wrong", ["S3CRETS3CRET", "a:S3CRET", "a b:" + line(1)[5:], line(1)[:-4], "a:!!!!", "é:" + line(1)[5:]]
)
def test_a_malformed_line_is_named_by_its_number_and_never_quoted(wrong: str) -> None:
    """What stands there may be most of a key."""
    with pytest.raises(BadInput, match="Line 3 of the test is no key") as refused:
        parse(f"# remark\n{line(1)}\n{wrong}\n", "the test")
    assert str(refused.value) == "Line 3 of the test is no key: each line is ID:BASE64 of 32 bytes."


def test_a_repeated_key_id_is_refused() -> None:
    """Which of the two opens a secret would be a guess."""
    with pytest.raises(BadInput, match="Line 2 of the test repeats"):
        parse(f"{line(1)}\n{line(1)}", "the test")


@pytest.mark.parametrize("text", ["", "\n", "# only a remark"])
def test_an_empty_ring_is_refused(text: str) -> None:
    """An empty setting does not mean: no encryption."""
    with pytest.raises(BadInput, match="no key"):
        parse(text, "the test")


def test_a_setting_may_hold_its_keys_on_one_line() -> None:
    """Environment files of service managers have no line breaks."""
    assert parse(f"{line(1)},{line(2)}", "TIDEGATE_KEY").ids == ("key1", "key2")


def test_keys_are_never_shown() -> None:
    """Not in a traceback's locals or a log line either."""
    shown = repr(ring(1)) + str(ring(1))
    assert "AQEB" not in shown
    assert "key1" in shown


def test_the_key_file_is_private_from_the_first_moment(tmp_path: Path) -> None:
    """Mode 0600, whatever the umask; the same key is read back."""
    path = tmp_path / "home" / "secret.key"
    made = key_ring.make_file(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    again = key_ring.read_file(path)
    assert again is not None
    assert again.open(*made.seal(b"token", BOND), BOND) == b"token"
    assert [entry.name for entry in path.parent.iterdir()] == ["secret.key"]


def test_processes_that_start_together_agree_on_one_key(tmp_path: Path) -> None:
    """Whoever comes second takes the first one's key."""
    path = tmp_path / "secret.key"
    made: list[KeyRing] = []
    starters = [threading.Thread(target=lambda: made.append(key_ring.make_file(path))) for _ in range(8)]
    for starter in starters:
        starter.start()
    for starter in starters:
        starter.join()
    assert len({ring.ids for ring in made}) == 1
    assert len(made) == 8


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o777])
def test_a_key_file_open_to_others_is_refused(tmp_path: Path, mode: int) -> None:
    """The sentence holds the command that helps."""
    path = tmp_path / "secret.key"
    key_ring.make_file(path)
    path.chmod(mode)
    with pytest.raises(BadInput, match=f"Run: chmod 600 {path}"):
        key_ring.read_file(path)


@as_root
def test_another_users_key_file_is_refused(tmp_path: Path) -> None:
    """Who owns the key can read every sign-in that is sealed from now on."""
    path = tmp_path / "secret.key"
    key_ring.make_file(path)
    give(path)
    with pytest.raises(NotTrusted, match=r"another user owns it \(owner nobody, mode 0600\)"):
        key_ring.read_file(path)


def test_no_key_is_made_or_read_where_others_could_replace_it(tmp_path: Path) -> None:
    """A file of ours in a folder of everybody's is theirs to replace."""
    make_folder(tmp_path / "open", 0o777)
    for step in (key_ring.make_file, key_ring.make_file, key_ring.read_file):
        with pytest.raises(NotTrusted, match="others may write to"):
            step(tmp_path / "open" / "secret.key")
        (tmp_path / "open" / "secret.key").touch(0o600)


def test_a_missing_key_file_is_none(tmp_path: Path) -> None:
    """Whether to make one is decided elsewhere."""
    assert key_ring.read_file(tmp_path / "secret.key") is None


def test_a_new_key_goes_first_and_the_old_ones_stay(tmp_path: Path) -> None:
    """What was sealed before still opens; what is sealed from now on uses the new key; the file stays private."""
    path = tmp_path / "secret.key"
    old = key_ring.make_file(path)
    sealed = old.seal(b"token", BOND)
    new = key_ring.add_key(path)
    assert new.ids[1:] == old.ids
    assert new.open(*sealed, BOND) == b"token"
    assert new.seal(b"token", BOND)[0] == new.ids[0] not in old.ids
    assert path.read_text().startswith("#")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.name for entry in tmp_path.iterdir()] == ["secret.key"]
