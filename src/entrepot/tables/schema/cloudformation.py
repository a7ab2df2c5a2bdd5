"""A CloudFormation template of the declared tables."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from entrepot.tables.provision import attribute_definitions, index_definition, key_schema
from entrepot.tables.table import Table


def template(tables: Iterable[Table]) -> dict[str, Any]:
    """The template, to be written as JSON."""
    tables = sorted(tables, key=lambda table: table.name)
    return {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": "The tables of Entrepot.",
        "Parameters": {
            "Prefix": {"Type": "String", "Default": "", "Description": "Put before the name of each table."}
        },
        "Resources": {logical_name(table.name): _resource(table) for table in tables},
        "Outputs": {
            f"{logical_name(table.name)}Arn": {"Value": {"Fn::GetAtt": [logical_name(table.name), "Arn"]}}
            for table in tables
        },
    }


def logical_name(name: str) -> str:
    """A table's name as CloudFormation takes it: letters and digits."""
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[^A-Za-z0-9]+", name)) + "Table"


def _resource(table: Table) -> dict[str, Any]:
    properties: dict[str, Any] = {
        "TableName": {"Fn::Sub": f"${{Prefix}}{table.name}"},
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": attribute_definitions(table),
        "KeySchema": key_schema(table.key_names),
        "SSESpecification": {"SSEEnabled": True},
    }
    if table.indexes:
        properties["GlobalSecondaryIndexes"] = [index_definition(index) for index in table.indexes.values()]
    if table.ttl is not None:
        properties["TimeToLiveSpecification"] = {"AttributeName": table.ttl, "Enabled": True}
    if table.pitr:
        recovery: dict[str, Any] = {"PointInTimeRecoveryEnabled": True}
        if table.pitr is not True:
            recovery["RecoveryPeriodInDays"] = table.pitr
        properties["PointInTimeRecoverySpecification"] = recovery
    if table.stream is not None:
        properties["StreamSpecification"] = {"StreamViewType": table.stream}
    return {
        "Type": "AWS::DynamoDB::Table",
        # A stack that goes must not take the data with it.
        "DeletionPolicy": "Retain",
        "UpdateReplacePolicy": "Retain",
        "Properties": properties,
    }
