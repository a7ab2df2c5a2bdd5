"""Access classes: each method is a named access pattern.

    class Sources(Access[Source]):
        def of_user(self, userId: UserId) -> Many[Source]:
            '''List sources for user.'''
            return query(PK=f"USER#{userId}", SK=begins_with("SRC#"))

A method's body runs once, when the class is made, with its arguments standing for themselves: what it returns is
proven against the table and compiled. Called on an instance, the method makes the read (or the update) that it
declares. Methods that answer anything but Item, One, Many or Update are left as they are.
"""

from __future__ import annotations

import functools
import inspect
import sys
import typing
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from entrepot.tables.errors import DeclarationError
from entrepot.tables.expressions import Argument, Change, Condition
from entrepot.tables.fields import Unsupported
from entrepot.tables.keys import TemplateError
from entrepot.tables.model import Entity, Model
from entrepot.tables.patterns import LIST_MAX, READS_MAX, Pattern, Range, ReadSpec
from entrepot.tables.reads import Item, Many, One
from entrepot.tables.updates import Update, UpdatePlan, UpdateSpec

if TYPE_CHECKING:
    from entrepot.tables.database import Database

E = TypeVar("E", bound=Entity)

Key = str | Range


def item(*, stale: bool = False, **keys: str) -> Item[Any]:
    """One item by its primary key: without keys, by the entity's own templates.

    It is read consistently, unless a `stale` answer (at half the cost) will do.
    """
    return cast("Item[Any]", ReadSpec("item", keys, {"consistent": not stale}))


def first(
    *, descending: bool = False, confirm: bool = False, fallback: One[Any] | None = None, **keys: Key
) -> One[Any]:
    """The first item of a query.

    `confirm` reads the item itself after its index, since indexes lag. `fallback` is `item(...)` or `guarded(...)`,
    read consistently when the index shows nothing yet.
    """
    options = {"descending": descending, "confirm": confirm, "fallback": fallback}
    return cast("One[Any]", ReadSpec("first", keys, options))


def guarded(**keys: str) -> One[Any]:
    """The entity that holds a guard: two consistent reads, no index."""
    return cast("One[Any]", ReadSpec("guarded", keys, {}))


def query(
    *,
    descending: bool = False,
    consistent: bool = False,
    confirm: bool = False,
    where: Condition | None = None,
    at_most: int = LIST_MAX,
    reads_max: int = READS_MAX,
    **keys: Key,
) -> Many[Any]:
    """A list. `at_most` bounds `all()`; a page with a filter reads at most `reads_max` items."""
    options = {
        "descending": descending,
        "consistent": consistent,
        "confirm": confirm,
        "where": where,
        "at_most": at_most,
        "reads_max": reads_max,
    }
    return cast("Many[Any]", ReadSpec("query", keys, options))


def update(*changes: Change, when: Condition | None = None, **keys: str) -> Update[Any]:
    """A change of an item that must exist, on condition."""
    return cast("Update[Any]", UpdateSpec(keys, changes, when, upsert=False))


def upsert(*changes: Change, when: Condition | None = None, **keys: str) -> Update[Any]:
    """A change that makes the item when there is none: it must set all that the entity requires."""
    return cast("Update[Any]", UpdateSpec(keys, changes, when, upsert=True))


class Access(Generic[E]):
    """The access patterns of one entity; an instance runs them on a database."""

    model: typing.ClassVar[Model[Any]]
    patterns: typing.ClassVar[dict[str, Pattern | UpdatePlan]]

    def __init__(self, db: Database) -> None:
        self.db = db

    def __init_subclass__(cls) -> None:
        frame = sys._getframe(1)
        entity = _entity_of(cls)
        declared = getattr(entity, "__model__", None)
        if declared is None:
            raise DeclarationError(
                f"{cls.__name__}: {entity!r} is not an entity of a table",
                file=frame.f_code.co_filename,
                line=frame.f_lineno,
            )
        cls.model = declared
        cls.patterns = {}
        for name, function in list(vars(cls).items()):
            if not isinstance(function, FunctionType) or name.startswith("_"):
                continue
            method = _declare(cls, declared, function, frame.f_locals)
            if method is not None:
                setattr(cls, name, method)


def _entity_of(cls: type) -> Any:
    for base in cls.__orig_bases__:  # type: ignore[attr-defined]
        if typing.get_origin(base) is Access:
            return typing.get_args(base)[0]
    return None


def _declare(
    cls: type[Access[Any]], model: Model[Any], function: FunctionType, scope: dict[str, Any]
) -> Callable[..., Any] | None:
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        return None
    name = f"{cls.__name__}.{function.__name__}"
    file, line = function.__code__.co_filename, function.__code__.co_firstlineno
    try:
        hints = typing.get_type_hints(function, localns=scope, include_extras=True)
        answer = hints.pop("return", None)
        origin = typing.get_origin(answer)
        if origin not in (Item, One, Many, Update):
            return None
        parameters = list(inspect.signature(function).parameters.values())[1:]
        arguments = {parameter.name: hints.get(parameter.name, Any) for parameter in parameters}
        spec = function(None, **{name: Argument(name, hint) for name, hint in arguments.items()})
        pattern = _compile(name, spec, model, answer, arguments, function.__doc__ or "", file, line)
    except (TemplateError, Unsupported, NameError, TypeError) as error:
        raise DeclarationError(f"{name}: {error}", file=file, line=line) from None
    except DeclarationError as error:
        raise type(error)(f"{name}: {error.message}", file=file, line=line) from None
    cls.patterns[function.__name__] = pattern
    return _method(function, pattern, parameters, origin)


def _compile(
    name: str,
    spec: Any,
    model: Model[Any],
    answer: Any,
    arguments: dict[str, Any],
    doc: str,
    file: str,
    line: int,
) -> Pattern | UpdatePlan:
    origin = typing.get_origin(answer)
    (result,) = typing.get_args(answer)
    wanted = {
        Item: "item(...)",
        One: "first(...) or guarded(...)",
        Many: "query(...)",
        Update: "update(...) or upsert(...)",
    }
    if isinstance(spec, UpdateSpec) and origin is Update:
        return UpdatePlan.declare(name, spec, model, arguments, doc=doc, file=file, line=line)
    kinds = {"item": Item, "first": One, "guarded": One, "query": Many}
    if not isinstance(spec, ReadSpec) or kinds[spec.kind] is not origin:
        raise TemplateError(f"a method that answers {answer} returns {wanted[origin]}")
    pattern = Pattern(name, spec, model, result, arguments, doc=inspect.cleandoc(doc), file=file, line=line)
    model.table.patterns.append(pattern)
    return pattern


def _method(
    function: FunctionType, pattern: Pattern | UpdatePlan, parameters: list[inspect.Parameter], origin: type
) -> Callable[..., Any]:
    names = tuple(parameter.name for parameter in parameters)
    defaults = {p.name: p.default for p in parameters if p.default is not inspect.Parameter.empty}
    positional = not any(parameter.kind is inspect.Parameter.KEYWORD_ONLY for parameter in parameters)
    count = len(names)
    bind = inspect.signature(function).bind

    @functools.wraps(function)
    def method(self: Access[Any], *args: Any, **kwargs: Any) -> Any:
        if not kwargs and positional and len(args) == count:
            values = dict(zip(names, args, strict=True))
        elif not args and len(kwargs) == count and kwargs.keys() == set(names):
            values = kwargs
        else:
            # Says what is missing or too much in Python's own words.
            values = {**defaults, **bind(self, *args, **kwargs).arguments}
            values.pop("self", None)
        return origin(self.db, pattern, values)

    method.pattern = pattern  # type: ignore[attr-defined]
    return method
