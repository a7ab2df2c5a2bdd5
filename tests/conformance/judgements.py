"""What the suite's expectations rest on, and who is right where servers disagree."""

from __future__ import annotations

from typing import Final

_API = "the API reference"
_GUIDE = "the developer guide"
_SEEN = "answers of the service that dynalite, moto or dynoxide recorded"

AREAS: Final[dict[str, str]] = {
    "batch_get": f"{_API} of BatchGetItem: 100 keys, 16 MB, unprocessed keys; messages: {_SEEN}",
    "batch_write": f"{_API} of BatchWriteItem: 25 requests, no duplicates; messages: {_SEEN}",
    "capacity": f"{_GUIDE} on read and write units; index units by the entry, as dynoxide measured them",
    "condition_expression": f"{_GUIDE} on comparison operators and functions",
    "condition_refusals": f"{_SEEN}; the order of mistakes is dynalite's",
    "constraints": f"the lengths, patterns and words of {_API}; the form of the list: {_SEEN}",
    "create_table": f"{_API} of CreateTable and TableDescription",
    "create_table_refusals": f"{_API} of CreateTable; messages and order: {_SEEN}",
    "delete_item": f"{_API} of DeleteItem",
    "get_item": f"{_API} of GetItem; key sizes from the limits page of {_GUIDE}",
    "indexes": f"{_GUIDE} on local and global secondary indexes: sparse, projections, fetches",
    "item_collections": f"{_API} of ItemCollectionMetrics: only tables with local indexes",
    "legacy_conditions": f"{_GUIDE} on legacy parameters: KeyConditions, QueryFilter, ScanFilter",
    "legacy_expected": f"{_GUIDE} on legacy parameters: Expected, ConditionalOperator",
    "legacy_updates": f"{_GUIDE} on legacy parameters: AttributeUpdates",
    "limits": f"the limits page of {_GUIDE}: 400 KB, 4 KB expressions, 300 operators, 100 operands of IN",
    "names": f"{_GUIDE} on naming rules; empty names: {_SEEN}",
    "numbers": f"{_GUIDE} on numbers: 38 digits, magnitudes from 1E-130 to 9.99…E+125",
    "placeholders": f"{_GUIDE} on expression attribute names and values; messages: {_SEEN}",
    "projection_expression": f"{_GUIDE} on projection expressions; messages: {_SEEN}",
    "put_item": f"{_API} of PutItem; messages: {_SEEN}",
    "query": f"{_API} of Query: order, Limit, LastEvaluatedKey, filters after the limit, 1 MB",
    "query_refusals": f"{_API} of Query; messages: {_SEEN}",
    "scan": f"{_API} of Scan: segments, pages, bounds",
    "serialization": f"the service's own JSON layer: {_SEEN}",
    "service": f"{_API} of DescribeLimits, DescribeEndpoints and the continuous backups calls",
    "tables": f"{_API} of DeleteTable and ListTables",
    "tags": f"{_API} of the tag calls; messages: {_SEEN}",
    "time_to_live": f"{_API} of UpdateTimeToLive: turning on what is on is refused",
    "transact_get": f"{_API} of TransactGetItems: answers in order, projections without keys",
    "transact_refusals": f"{_API} of TransactWriteItems; messages: {_SEEN}",
    "transact_write": f"{_API} of TransactWriteItems: all or nothing, a reason each, tokens",
    "update_expression": f"{_GUIDE} on update expressions: operands are read before anything changes",
    "update_expression_refusals": f"{_SEEN}; `token … near …` as the service words syntax errors",
    "update_item": f"{_API} of UpdateItem; messages: {_SEEN}",
    "update_table": f"{_API} of UpdateTable: one index at a time, backfill, billing, streams, protection",
    "validation_order": f"the order of checks: {_SEEN}",
    "values": f"{_GUIDE} on data types: sets without duplicates, empty strings, 32 levels",
    "wire": f"the protocol: JSON 1.0, `X-Amz-Target`, checksums, signatures; {_SEEN}",
}

# Question, what the servers say, who is right, why.
DISPUTES: Final[list[tuple[str, str, str, str]]] = [
    ("Is a mistake of a single-item write wrapped as `1 validation error detected: …`?", "dynalite: no; moto and dynoxide: mostly", "both", "the service is moving between two validation layers, by operation and region; the suite takes either"),
    ("Which table names does the older layer refuse, and how many violations does it list?", "dynalite: all at once; dynoxide: the first", "both", "the same two layers"),
    ("Does the page of a query hold the item that crosses 1 MB?", "dynalite: yes; dynoxide: no", "dynalite", "the guide says that reading stops once the limit is exceeded"),
    ("Does a local index give attributes that it does not project?", "none of the three", "none", "the guide: DynamoDB fetches them from the table, at the cost of another read"),
    ("May a global index be asked for attributes that it does not project?", "all three: yes, they are left out", "none", "the guide: only projected attributes can be requested; the service refuses, and names them"),
    ("Is a condition's `OR` of Expected, QueryFilter and ScanFilter honoured?", "dynalite: no; dynoxide: yes", "dynoxide", "the guide on ConditionalOperator"),
    ("Are removals by several indexes of one list taken as of before the update?", "dynalite: no; moto, dynoxide: yes", "moto, dynoxide", "the guide: an update reads the item as it was"),
    ("Does `DELETE` of `2.0` remove `2` from a number set?", "dynalite: yes; moto, dynoxide: no", "dynalite", "numbers are equal by value, whatever their text"),
    ("Are function names case-sensitive?", "dynalite: yes; dynoxide: no", "dynalite", "the guide on functions"),
    ("Does a transaction's projection come with the key?", "dynoxide: yes", "neither", "the API reference: only the attributes asked for"),
    ("Are several indexes added by one UpdateTable?", "moto, dynoxide: yes", "neither", "the API reference: one creation or deletion at a time, else LimitExceededException"),
    ("Does UPDATED_NEW give a whole list whose one element changed?", "moto, dynoxide: yes; dynalite: only the element", "dynalite", "the API reference: only the updated attributes; paths come in their place"),
    ("What does ALL_OLD give for an item that was not there?", "dynoxide: its key", "neither", "the API reference: the attributes as they were before, which are none"),
]  # fmt: skip
