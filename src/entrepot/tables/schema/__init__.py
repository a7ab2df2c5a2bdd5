"""Tools on the declarations: the lock and its check, CloudFormation, IAM, documentation."""

from __future__ import annotations

from entrepot.tables.schema.cloudformation import template
from entrepot.tables.schema.differences import Difference, compare
from entrepot.tables.schema.documentation import document
from entrepot.tables.schema.iam import policy
from entrepot.tables.schema.lock import describe, read, write

__all__ = ["Difference", "compare", "describe", "document", "policy", "read", "template", "write"]
