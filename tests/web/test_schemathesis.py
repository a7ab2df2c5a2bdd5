"""The description of the API, held against the API itself: schemathesis calls every operation with what fits and what
does not, as the operator, and compares the answers with what is described."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import Failure, FailureGroup
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    ignored_auth,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from entrepot.accounts import passwords
from tests.accounts.conftest import QUICK_COST, Installation, running

# Few for each, since there are many operations and the whole has to stay under a minute.
EXAMPLES_MAX = 8

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
    unsupported_method,
    ignored_auth,
]


class Described:
    """A running installation with its description, and the key of its operator."""

    def __init__(self, here: Installation) -> None:
        operator = here.operator()
        made = operator.post("/accounts/keys", json={"name": "fuzz", "permissions": "admin"}).json()
        self.headers = {"Authorization": f"Bearer {made['apiKey']}"}
        self.schema: Any = schemathesis.openapi.from_url(f"{here.url}/openapi.json")


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Described]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passwords, "COST", QUICK_COST)
        with running(tmp_path_factory.mktemp("fuzz")) as here:
            yield Described(here)


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_every_operation_answers_as_it_is_described(described: Described, mode: GenerationMode) -> None:
    operations = [found.ok() for found in described.schema.get_all_operations()]
    wrong = [text for operation in operations if (text := complaint(described, operation, mode))]

    assert len(operations) > 20
    assert not wrong, "\n\n".join(wrong)


def complaint(described: Described, operation: Any, mode: GenerationMode) -> str | None:
    """What is wrong with an operation, or None."""

    @settings(
        max_examples=EXAMPLES_MAX,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def call(case: Any) -> None:
        case.call_and_validate(headers=described.headers, checks=CHECKS)

    try:
        call()
    except Unsatisfiable:
        # Nothing about this operation can be wrong.
        return None
    except (FailureGroup, Failure) as failure:
        parts = failure.exceptions if isinstance(failure, FailureGroup) else [failure]
        return "\n".join(f"{operation.label}: {part}" for part in parts)
    return None
