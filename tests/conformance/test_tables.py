"""DeleteTable and ListTables."""

from __future__ import annotations

from .dynamo import Dynamo, member
from .shapes import SHAPES


def test_a_deleted_table_is_gone_with_its_items(dynamo: Dynamo) -> None:
    name = dynamo.create(SHAPES["indexed"])
    dynamo.put(name, a={"S": "x"}, b={"S": "x"}, c={"S": "x"})
    described = dynamo.call("DeleteTable", {"TableName": name})["TableDescription"]
    assert (described["TableName"], described["TableStatus"]) == (name, "DELETING")
    dynamo.wait_gone(name)
    request = {"TableName": name, "Key": {"a": {"S": "x"}, "b": {"S": "x"}}}
    dynamo.refuses("GetItem", request, "ResourceNotFoundException", "Requested resource not found")
    dynamo.create({**SHAPES["hash"], "TableName": name})
    assert dynamo.call("Scan", {"TableName": name})["Count"] == 0
    dynamo.call("DeleteTable", {"TableName": name})


def test_deleting_an_absent_table(dynamo: Dynamo) -> None:
    message = "Requested resource not found: Table: no-such-table not found"
    dynamo.refuses("DeleteTable", {"TableName": "no-such-table"}, "ResourceNotFoundException", message)


def test_tables_are_listed_in_order(dynamo: Dynamo) -> None:
    prefix = dynamo.unique("aaa.list")
    names = [dynamo.create({**SHAPES["hash"], "TableName": f"{prefix}.{n}"}) for n in range(3)]
    answer = dynamo.call("ListTables", {"ExclusiveStartTableName": prefix, "Limit": 2})
    assert answer == {"TableNames": names[:2], "LastEvaluatedTableName": names[1]}
    answer = dynamo.call("ListTables", {"ExclusiveStartTableName": names[1], "Limit": 1})
    assert answer["TableNames"] == names[2:]
    everything: list[str] = []
    request: dict[str, object] = {}
    for _ in range(100):
        answer = dynamo.call("ListTables", request)
        everything += answer["TableNames"]
        if "LastEvaluatedTableName" not in answer:
            break
        request = {"ExclusiveStartTableName": answer["LastEvaluatedTableName"]}
    assert set(names) <= set(everything)
    assert everything == sorted(everything)


def test_the_limit_is_one_to_a_hundred(dynamo: Dynamo) -> None:
    low = member("limit", "0", "Member must have value greater than or equal to 1")
    high = member("limit", "101", "Member must have value less than or equal to 100")
    dynamo.violates("ListTables", {"Limit": 0}, [low])
    dynamo.violates("ListTables", {"Limit": 101}, [high])


def test_the_start_is_a_name(dynamo: Dynamo) -> None:
    parts = [
        member(
            "exclusiveStartTableName", "a;", "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"
        ),
        member("exclusiveStartTableName", "a;", "Member must have length greater than or equal to 3"),
    ]
    dynamo.violates("ListTables", {"ExclusiveStartTableName": "a;"}, parts)
