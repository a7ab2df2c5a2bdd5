"""The parameters from before expressions, which give the same conditions, updates and projections.

check_mixing(request, expressions=…, legacy=…)          the two forms do not mix in one request
condition_of_expected(expected, operator)               Expected            -> Condition
condition_of_filter(filters, operator, parameter)       QueryFilter, ScanFilter -> Condition
key_condition_of(conditions, hash_name, range_name)     KeyConditions       -> KeyCondition
key_bounds_of(conditions)                               KeyConditions       -> KeyBounds, to fit later
update_of(updates)                                      AttributeUpdates    -> Update
projection_of(names)                                    AttributesToGet     -> Projection
"""

from __future__ import annotations

from entrepot.engine.legacy.conditions import (
    condition_of_expected,
    condition_of_filter,
    key_bounds_of,
    key_condition_of,
)
from entrepot.engine.legacy.mixing import check_mixing
from entrepot.engine.legacy.updates import projection_of, update_of

__all__ = [
    "check_mixing",
    "condition_of_expected",
    "condition_of_filter",
    "key_bounds_of",
    "key_condition_of",
    "projection_of",
    "update_of",
]
