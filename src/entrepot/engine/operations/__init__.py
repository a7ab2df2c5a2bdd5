"""The operations of the API, one file each: its request, its checks, what it does."""

from __future__ import annotations

from entrepot.engine.operations import (
    batch_get_item,
    batch_write_item,
    create_table,
    delete_item,
    delete_table,
    describe_continuous_backups,
    describe_endpoints,
    describe_limits,
    describe_table,
    describe_time_to_live,
    get_item,
    list_tables,
    list_tags_of_resource,
    put_item,
    query,
    scan,
    tag_resource,
    transact_get_items,
    transact_write_items,
    untag_resource,
    update_continuous_backups,
    update_item,
    update_table,
    update_time_to_live,
)
from entrepot.engine.operations.operation import Operation

OPERATIONS: dict[str, Operation] = {
    module.OPERATION.name: module.OPERATION
    for module in (
        batch_get_item,
        batch_write_item,
        create_table,
        delete_item,
        delete_table,
        describe_continuous_backups,
        describe_endpoints,
        describe_limits,
        describe_table,
        describe_time_to_live,
        get_item,
        list_tables,
        list_tags_of_resource,
        put_item,
        query,
        scan,
        tag_resource,
        transact_get_items,
        transact_write_items,
        untag_resource,
        update_continuous_backups,
        update_item,
        update_table,
        update_time_to_live,
    )
}

__all__ = ["OPERATIONS", "Operation"]
