"""Which parameters may stand together in one request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from entrepot.engine.errors import Validation

_CONDITIONED = ("Expected", "QueryFilter", "ScanFilter")


def check_mixing(request: Mapping[str, Any], *, expressions: Sequence[str], legacy: Sequence[str]) -> None:
    """Refuse expressions beside their older forms, and placeholders or a conditional operator without use.

    `expressions` and `legacy` are the parameters of the operation, in the order that the error names them.
    """
    used = [name for name in expressions if request.get(name) is not None]
    if used:
        _refuse_legacy(request, used, legacy)
    elif request.get("ExpressionAttributeNames") is not None:
        raise Validation("ExpressionAttributeNames can only be specified when using expressions")
    if request.get("ExpressionAttributeValues") is not None:
        _demand_use_of_values(request, expressions)
    if request.get("ConditionalOperator") is not None:
        _check_conditional_operator(request)


def _refuse_legacy(request: Mapping[str, Any], used: Sequence[str], legacy: Sequence[str]) -> None:
    older = [name for name in legacy if request.get(name) is not None]
    # KeyConditions go with every expression but the one that says the same.
    if "KeyConditionExpression" not in used and "KeyConditions" in older:
        older.remove("KeyConditions")
    if older:
        raise Validation(
            "Can not use both expression and non-expression parameters in the same request: "
            f"Non-expression parameters: {{{', '.join(older)}}} Expression parameters: {{{', '.join(used)}}}"
        )


def _demand_use_of_values(request: Mapping[str, Any], expressions: Sequence[str]) -> None:
    users = [name for name in expressions if name != "ProjectionExpression"]
    if not users or any(request.get(name) is not None for name in users):
        return
    verb = "are" if len(users) > 1 else "is"
    raise Validation(
        "ExpressionAttributeValues can only be specified when using expressions: "
        f"{' and '.join(users)} {verb} null"
    )


def _check_conditional_operator(request: Mapping[str, Any]) -> None:
    conditioned = [request[name] for name in _CONDITIONED if request.get(name)]
    if not conditioned:
        raise Validation("ConditionalOperator cannot be used without Filter or Expected")
    if len(conditioned[0]) < 2:
        raise Validation(
            "ConditionalOperator can only be used when Filter or Expected has two or more elements"
        )
