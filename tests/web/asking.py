"""Everything that may be asked of an API that has an OpenAPI document, by the document's rules and against them."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import APIOperation, Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

EXAMPLES = int(os.environ.get("EXAMPLES", "6"))  # EXAMPLES=100 ./dev test tests/web/test_openapi.py for a longer try
CHECKS = [
    not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance,
    response_headers_conformance,
]  # fmt: skip


def questions(document: dict[str, Any], base: str, token: str) -> list[Callable[[], None]]:
    """One for each address and mode; against the rules only where there is something to break."""
    schema = schemathesis.openapi.from_dict(document)
    operations = [found.ok() for found in schema.get_all_operations()]
    return [
        partial(ask, operation, mode, base, token)
        for mode, operation in product((GenerationMode.POSITIVE, GenerationMode.NEGATIVE), operations)
        if mode is GenerationMode.POSITIVE or operation.query or operation.body
    ]


def ask(operation: APIOperation, mode: GenerationMode, base: str, token: str) -> None:
    """Ask an address many things and check each answer."""
    session = requests.Session()
    session.trust_env = False

    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def asked(case: Case) -> None:
        case.call_and_validate(base_url=base, session=session, headers={"authorization": token}, checks=CHECKS)

    asked()
