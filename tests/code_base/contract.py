"""What operators and their scripts rely on: commands and options, the API, settings, event kinds, JSON documents.

``contract.json`` is the snapshot that ``test_contract.py`` compares with. After a deliberate change, which needs a line
in CHANGELOG.md too, rewrite it::

    .venv/bin/python -m tests.code_base.contract

The part ``documents`` lists the fields of what each command prints with ``--json``. Those of a document that has a
class are read from it; others are edited by hand. Whenever a test runs such a command, ``tests/cli/program.py``
compares its output with the snapshot.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from tests.code_base.source_files import nodes, parsed

SNAPSHOT = Path(__file__).with_name("contract.json")
SRC = Path(__file__).parent.parent.parent / "src" / "tidegate"

_METHODS = ("get", "put", "post", "patch", "delete")
_DEPENDS_ON_MACHINE = {"home", "worker_name"}


@cache
def current() -> dict[str, Any]:
    """The contract of the code as it is."""
    import typer

    from tidegate.app.setting_sources import shown, variables
    from tidegate.app.settings import Settings
    from tidegate.cli import app
    from tidegate.events.kinds import KINDS
    from tidegate.web.openapi import document

    return {
        "api": api_contract(document()),
        "commands": command_contract(typer.main.get_command(app)),
        "documents": snapshot()["documents"] | document_contract(),
        "events": {kind: [field.name for field in fields(one)] for kind, one in KINDS.items()},
        "settings": setting_contract(Settings(), variables, shown),
        "values": value_contract(SRC),
    }


def snapshot() -> dict[str, Any]:
    """The contract as it was promised. Which enumerations share a set of values is not a part of it."""
    promised: dict[str, Any] = json.loads(SNAPSHOT.read_text())
    return promised | {"values": sorted({*promised["values"]})}


def write(contract: Mapping[str, Any]) -> None:
    SNAPSHOT.write_text(json.dumps(contract, indent=1, sort_keys=True) + "\n")


def command_contract(command: Any, typed: str = "tidegate") -> dict[str, list[str]]:
    """Every command as it is typed, with a line for each argument and option; help texts may change."""
    inner = getattr(command, "commands", {}).items()
    found = {typed: _parameters(command)} if command.params or not inner else {}
    for name, below in inner:
        found |= command_contract(below, f"{typed} {name}")
    return found


def _parameters(command: Any) -> list[str]:
    """The arguments in their order, then the options, whose order means nothing."""
    arguments = [_parameter(given) for given in command.params if given.param_type_name == "argument"]
    return arguments + sorted(_parameter(given) for given in command.params if given.param_type_name == "option")


def _parameter(given: Any) -> str:
    is_argument = given.param_type_name == "argument"
    # An argument's name is shown in help texts only; nobody types it.
    name = "argument" if is_argument else " ".join([*given.opts, *given.secondary_opts])
    kind = "flag" if getattr(given, "is_flag", False) else _value_kind(given.type_descriptor.annotation)
    words = [kind, "required" if given.required else "", "repeatable" if given.multiple or given.nargs != 1 else ""]
    return f"{name}: {', '.join(filter(None, words))}"


def _value_kind(annotation: Any) -> str:
    if get_origin(annotation) is Literal:
        return "|".join(get_args(annotation))
    if inner := get_args(annotation):
        return _value_kind(inner[0])
    if issubclass(annotation, Enum):
        return "|".join(str(value.value) for value in annotation)
    return str(annotation.__name__)


def api_contract(document: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Every operation with its parameters, the fields it takes and the fields of each answer.

    Schemas are written out where they are used: their names are names of classes, which nobody relies on.
    """
    return {
        f"{method.upper()} {path}": _operation(document, operations[method])
        for path, operations in document["paths"].items()
        for method in _METHODS
        if method in operations
    }


def _operation(document: Mapping[str, Any], operation: Mapping[str, Any]) -> dict[str, Any]:
    parameters = sorted(
        f"{given['in']} {given['name']}: {_kind(document, given['schema'])}{' required' * given.get('required', False)}"
        for given in operation.get("parameters", ())
    )
    body = operation.get("requestBody", {})
    answers = {status: _contents(document, answer) for status, answer in operation["responses"].items()}
    told = {
        "parameters": parameters,
        "takes": _contents(document, body),
        "answers": {status: fields for status, fields in answers.items() if not status.startswith("4")},
        "refusals": " ".join(sorted(status for status in answers if status.startswith("4"))),
    }
    return {name: value for name, value in told.items() if value}


def _contents(document: Mapping[str, Any], body: Mapping[str, Any]) -> list[str]:
    return [
        line
        for media, content in sorted(body.get("content", {}).items())
        for line in (f"({media})", *sorted(set(_fields(document, content.get("schema", {}), "", ()))))
    ]


def _fields(document: Mapping[str, Any], schema: Mapping[str, Any], at: str, within: tuple[str, ...]) -> Iterator[str]:
    """A line for each field below *schema*; *within* keeps a schema that holds itself from going on for ever."""
    if name := schema.get("$ref", ""):
        if name in within:
            yield f"{at}: as above"
        else:
            yield from _fields(document, _named_schema(document, name), at, (*within, name))
        return
    for choice in _choices(schema):
        yield from _fields(document, choice, at, within)
    required = schema.get("required", ())
    for name, below in schema.get("properties", {}).items():
        here = f"{at}.{name}".lstrip(".")
        yield f"{here}: {_kind(document, below)}{' required' * (name in required)}"
        yield from _fields(document, below, here, within)
    for key, mark in (("items", "[]"), ("additionalProperties", "{}")):
        if isinstance(below := schema.get(key), dict):
            yield from _fields(document, below, at + mark, within)


def _kind(document: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """The types a value may have, and the values of an enumeration."""
    return "|".join(dict.fromkeys(_kinds(document, schema))) or "any"


def _kinds(document: Mapping[str, Any], schema: Mapping[str, Any]) -> Iterator[str]:
    if name := schema.get("$ref"):
        yield from _kinds(document, _named_schema(document, name))
    for choice in _choices(schema):
        yield from _kinds(document, choice)
    if values := schema.get("enum", [schema["const"]] if "const" in schema else []):
        yield from map(repr, values)
    elif schema.get("type") == "array":
        yield f"[{_kind(document, schema.get('items', {}))}]"
    elif "type" in schema:
        yield f"{schema['type']}({schema['format']})" if "format" in schema else schema["type"]


def _named_schema(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    schema: Mapping[str, Any] = document["components"]["schemas"][name.rpartition("/")[2]]
    return schema


def _choices(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [choice for key in ("anyOf", "oneOf", "allOf") for choice in schema.get(key, ())]


def setting_contract(
    defaults: Any, variables: Callable[[str], Iterable[Any]], shown: Callable[[object], object]
) -> dict[str, dict[str, object]]:
    """Every setting with the variables it is read from, strongest first, and its default as people see it."""
    return {
        name: {
            "variables": [alias.name for alias in variables(name)],
            "default": "(depends on the machine)" if name in _DEPENDS_ON_MACHINE else shown(getattr(defaults, name)),
        }
        for name in type(defaults).model_fields
    }


def value_contract(folder: Path) -> list[str]:
    """The sets of values that enumerations of texts have: they stand in JSON, in the database and in what is typed."""
    enumerations = [
        node for node in _nodes(folder) if isinstance(node, ast.ClassDef) and "StrEnum" in map(ast.unparse, node.bases)
    ]
    return sorted({"|".join(sorted(_values(enumeration))) for enumeration in enumerations})


def _values(enumeration: ast.ClassDef) -> Iterator[str]:
    for line in enumeration.body:
        if isinstance(line, ast.Assign):
            yield from _texts(ast.walk(line.value))


def _texts(nodes: Iterable[ast.AST]) -> Iterator[str]:
    return (node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))


def _nodes(folder: Path) -> Iterator[ast.AST]:
    for path in folder.rglob("*.py"):
        if not {"loopback", "demo"} & {*path.relative_to(folder).parts}:
            yield from nodes(parsed(path))


def document_contract() -> dict[str, list[str]]:
    """The fields of the documents that have a class, by the command that prints them."""
    from tidegate.access.documents import NewToken, TokenRow
    from tidegate.app.account_documents import AccountRow
    from tidegate.app.doctor.check import DoctorDocument
    from tidegate.app.settings_document import SettingRow
    from tidegate.archives.documents import ArchiveRow, ArchiveShown
    from tidegate.demo.tour_check import Promise
    from tidegate.events.kinds.cycles import CycleEnded
    from tidegate.events.kinds.history import BackfillEnded, ReconcileEnded
    from tidegate.history.channel_documents import ChannelRow, ChannelShown
    from tidegate.history.message_documents import ContextDocument
    from tidegate.lanes.documents import CallsRow
    from tidegate.maintenance.database_copies import DistrustedAccess
    from tidegate.problems.documents import StatusDocument
    from tidegate.reminders.documents import EstimateShown, ReminderRow
    from tidegate.reminders.runs.documents import RunRow, RunShown
    from tidegate.reminders.runs.run_remainder import Remainder
    from tidegate.reminders.target_list_documents import TargetListRow
    from tidegate.search.documents import SearchDocument
    from tidegate.web.api.calls_feed_settings import FeedEvent

    documents: dict[str, Any] = {
        "account list": AccountRow,
        "account show": AccountRow,
        "archive list": ArchiveRow,
        "archive show": ArchiveShown,
        "calls": CallsRow,
        "channel list": ChannelRow,
        "channel show": ChannelShown,
        "context": ContextDocument,
        "cycle": CycleEnded,
        "db mark-restored": DistrustedAccess,
        "db restore": DistrustedAccess,
        "doctor": DoctorDocument,
        "feed": FeedEvent,
        "reminder estimate": EstimateShown,
        "reminder fire": RunShown,
        "reminder list": ReminderRow,
        "reminder targets": TargetListRow,
        "reminder test": RunShown,
        "runs list": RunRow,
        "runs remainder": Remainder,
        "runs show": RunShown,
        "search": SearchDocument,
        "settings": SettingRow,
        "status": StatusDocument,
        "token add": NewToken,
        "token list": TokenRow,
    }
    rows: dict[str, tuple[str, Any]] = {
        "backfill": ("channels[].", BackfillEnded),
        "demo": ("promises[].", Promise),
        "reconcile": ("channels[].", ReconcileEnded),
    }
    found = {command: list(_always_there(one)) for command, one in documents.items()}
    for command, (place, one) in rows.items():
        above = [name for name in snapshot()["documents"][f"tidegate {command}"] if not name.startswith(place)]
        found[command] = above + [place + name for name in _always_there(one)]
    return {f"tidegate {command}": sorted(names) for command, names in found.items()}


def _always_there(document: Any) -> Iterator[str]:
    """The fields of a class and of the classes in its fields; a field with a default may be left out."""
    hints = get_type_hints(document)
    for field in fields(document):
        if field.default is not MISSING and document.__name__ != "Counts":
            continue
        yield field.name
        hint = hints[field.name]
        mark = "[]" if get_origin(hint) in (list, Sequence) else ""
        for inner in filter(is_dataclass, (hint, *get_args(hint))):
            yield from (f"{field.name}{mark}.{name}" for name in _always_there(inner))


def missing_fields(arguments: Sequence[str], output: str) -> list[str]:
    """The promised fields that the output of ``tidegate`` with these *arguments*, and ``--json``, lacks."""
    promised = snapshot()["documents"]
    named = [name for name in promised if _is_called(name.split()[1:], arguments)]
    if not named:
        return [f"no document of tidegate {' '.join(arguments)} in {SNAPSHOT.name}"]
    # The feed prints one document a line; elsewhere a list holds several documents of one shape.
    read = [json.loads(line) for line in output.splitlines()] if arguments[0] == "feed" else json.loads(output)
    documents = read if isinstance(read, list) else [read]
    return [field for field in promised[max(named, key=len)] if any(lacks(one, field) for one in documents)]


def _is_called(command: Sequence[str], arguments: Sequence[str]) -> bool:
    """Whether *arguments* call a command; an option in its name is one that gives it another document."""
    words = [word for word in command if not word.startswith("--")]
    return list(arguments[: len(words)]) == words and {*command[len(words) :]} <= {*arguments}


def lacks(document: Any, field: str) -> bool:
    """Whether an object that should have the field does not; ``a[].b`` is field b of each object in list a.

    An empty list or null where the object would be is not a lack.
    """
    name, _, below = field.partition(".")
    key = name.removesuffix("[]")
    if not isinstance(document, dict):
        return False
    if key not in document:
        return not below
    inner = document[key] if name.endswith("[]") else [document[key]]
    return bool(below) and any(lacks(one, below) for one in inner)


if __name__ == "__main__":
    write(current())
