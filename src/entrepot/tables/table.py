"""Tables: keys, indexes and options, and the entities that live in them, proven as they are declared."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from entrepot.tables.errors import DeclarationError
from entrepot.tables.fields import Unsupported
from entrepot.tables.keys import PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX, Template, TemplateError, parse
from entrepot.tables.model import Entity, Guard, Model
from entrepot.tables.overlap import close_against, could_be_equal

if TYPE_CHECKING:
    from entrepot.tables.patterns import Pattern

E = TypeVar("E", bound=Entity)

INDEXES_MAX = 20
_NAME = re.compile(r"[A-Za-z0-9_.-]{3,255}", re.ASCII)
_HERE = str(Path(__file__).parent)


class Index:
    """A global secondary index: its keys and what it projects."""

    __slots__ = ("key_kinds", "key_names", "name", "project")

    def __init__(self, keys: str, *, project: Literal["ALL", "KEYS_ONLY"] | Sequence[str] = "ALL") -> None:
        self.key_names, self.key_kinds = _parse_keys(keys)
        self.project: str | tuple[str, ...] = project if isinstance(project, str) else tuple(project)
        self.name = ""

    def projects(self, attribute: str, table: Table) -> bool:
        """Whether a query of this index answers with the attribute."""
        if self.project == "ALL" or attribute in self.key_names or attribute in table.key_names:
            return True
        return not isinstance(self.project, str) and attribute in self.project


class Table:
    """A DynamoDB table, declared once.

    `keys` and each index are attribute names, the partition key first: `"PK SK"`, `"device at:N"` (a number).
    `pitr` is recovery to any point, True or a number of days. `type_attribute` names the attribute that says which
    entity an item is. `transactions` declares that services write this table in transactions.
    """

    def __init__(
        self,
        name: str,
        keys: str,
        *,
        indexes: Mapping[str, str | Index] | None = None,
        ttl: str | None = None,
        pitr: bool | int = False,
        stream: Literal["NEW_AND_OLD_IMAGES", "NEW_IMAGE", "OLD_IMAGE", "KEYS_ONLY"] | None = None,
        type_attribute: str | None = None,
        transactions: bool = False,
        delimiter: str = "#",
    ) -> None:
        self.file, self.line = caller()
        self.name = name
        try:
            _check_name(name)
            for attribute in (ttl, type_attribute):
                if attribute is not None and not attribute.isidentifier():
                    raise TemplateError(f"{attribute!r} is no name of an attribute")
            self.key_names, self.key_kinds = _parse_keys(keys)
            self.indexes = {name: _index(name, index) for name, index in (indexes or {}).items()}
        except TemplateError as error:
            raise DeclarationError(f"table {name}: {error}", file=self.file, line=self.line) from None
        if len(self.indexes) > INDEXES_MAX:
            raise DeclarationError(
                f"table {name}: {len(self.indexes)} indexes, DynamoDB takes {INDEXES_MAX}",
                file=self.file,
                line=self.line,
            )
        self.ttl = ttl
        self.pitr = pitr
        self.stream = stream
        self.type_attribute = type_attribute
        self.delimiter = delimiter
        self._transactions = transactions
        self.models: dict[str, Model[Any]] = {}
        self.patterns: list[Pattern] = []

    def __repr__(self) -> str:
        return f"Table({self.name!r})"

    def kind_of(self, attribute: str) -> str:
        """The DynamoDB type of a key attribute."""
        for names, kinds in [(self.key_names, self.key_kinds)] + [
            (index.key_names, index.key_kinds) for index in self.indexes.values()
        ]:
            if attribute in names:
                return kinds[names.index(attribute)]
        raise KeyError(attribute)

    @property
    def transactions(self) -> bool:
        """Whether the table needs TransactWriteItems: it says so, or one of its entities has guards."""
        return self._transactions or any(model.guards for model in self.models.values())

    @property
    def all_key_names(self) -> list[str]:
        """Key attributes of the table and its indexes, each once."""
        names = list(self.key_names)
        for index in self.indexes.values():
            names.extend(name for name in index.key_names if name not in names)
        return names

    def entity(
        self, *, unique: Sequence[Guard] = (), version: str | None = None, **keys: str
    ) -> Callable[[type[E]], type[E]]:
        """Declares an entity of this table: a template for each key and index attribute.

        A key attribute that is itself an attribute of the entity needs no template. `unique` are guard items,
        `version` is the attribute that counts writes for optimistic concurrency.
        """
        file, line = caller()

        def declare(entity: type[E]) -> type[E]:
            try:
                self._declare(entity, keys, unique, version, file=file, line=line)
            except (TemplateError, Unsupported, NameError) as error:
                raise DeclarationError(f"{entity.__name__}: {error}", file=file, line=line) from None
            return entity

        return declare

    def _declare(
        self,
        entity: type[E],
        keys: Mapping[str, str],
        unique: Sequence[Guard],
        version: str | None,
        *,
        file: str,
        line: int,
    ) -> None:
        model = Model(entity, self, file=file, line=line)
        if model.name in self.models:
            raise TemplateError(f"{self.name} has an entity of this name already")
        model.templates = self._templates(model, keys)
        model.version = self._version(model, version)
        model.guards = tuple(self._guard(model, declared) for declared in unique)
        self._check_attributes(model)
        for other in (*self.models.values(), model):
            self._separate(model, other)
        model.type_name = self._type_name(model)
        model.compile()
        self.models[model.name] = model
        entity.__model__ = model  # type: ignore[attr-defined]
        for pattern in self.patterns:
            pattern.prove_against(model)

    def _templates(self, model: Model[Any], keys: Mapping[str, str]) -> dict[str, Template]:
        known = self.all_key_names
        for attribute in keys:
            if attribute not in known:
                raise TemplateError(f"{attribute!r} is no key of {self.name} or of its indexes")
        templates: dict[str, Template] = {}
        for attribute in known:
            text = keys.get(attribute)
            if text is None and attribute in model.fields:
                text = f"{{{attribute}}}"
            if text is None:
                continue
            partition = any(names[0] == attribute for names in self._key_lists())
            templates[attribute] = parse(
                text,
                model.name,
                model.fields,
                delimiter=self.delimiter,
                kind=self.kind_of(attribute),
                bytes_max=PARTITION_KEY_BYTES_MAX if partition else SORT_KEY_BYTES_MAX,
            )
            if attribute in model.fields and templates[attribute].text != f"{{{attribute}}}":
                raise TemplateError(f"{attribute!r} is an attribute of its own and can't be {text!r} too")
        for attribute in self.key_names:
            if attribute not in templates:
                raise TemplateError(f"the key {attribute!r} has no template")
            for slot in templates[attribute].slots:
                if slot.field.optional:
                    raise TemplateError(f"the key {attribute!r} needs {slot.name!r}, which may be None")
        for index in self.indexes.values():
            given = [name for name in index.key_names if name in keys]
            missing = [name for name in index.key_names if name not in templates]
            if given and missing:
                raise TemplateError(f"the index {index.name} has {given[0]!r} but no {missing[0]!r}")
        return templates

    def _key_lists(self) -> list[tuple[str, ...]]:
        return [self.key_names, *(index.key_names for index in self.indexes.values())]

    def _version(self, model: Model[Any], version: str | None) -> str | None:
        if version is None:
            return None
        field = model.fields.get(version)
        if field is None or field.base is not int or field.optional:
            raise TemplateError(f"the version {version!r} must be an int of the entity")
        return version

    def _type_name(self, model: Model[Any]) -> str | None:
        if self.type_attribute is None:
            return None
        field = model.fields.get(self.type_attribute)
        if field is None:
            return model.name
        if field.values is None or len(field.values) != 1:
            raise TemplateError(f"the type attribute {self.type_attribute!r} must be a Literal of one value")
        return str(field.values[0])

    def _guard(self, model: Model[Any], declared: Guard) -> Guard:
        if set(declared.texts) != set(self.key_names):
            raise TemplateError(f"a guard has the table's keys {' '.join(self.key_names)}, not more or fewer")
        made = Guard(declared.texts)
        made.templates = {
            name: parse(text, model.name, model.fields, delimiter=self.delimiter)
            for name, text in declared.texts.items()
        }
        if not made.fields:
            raise TemplateError(f"the guard {made.name} guards no attribute")
        builders = [(name, made.templates[name].builder()) for name in self.key_names]
        optional = [name for name in made.fields if model.fields[name].optional]

        def build(values: Mapping[str, Any]) -> dict[str, Any] | None:
            if any(values.get(name) is None for name in optional):
                return None
            return {name: make(values) for name, make in builders}

        made.build = build
        return made

    def _check_attributes(self, model: Model[Any]) -> None:
        ttl = model.fields.get(self.ttl) if self.ttl is not None else None
        if ttl is not None and ttl.base is not int:
            raise TemplateError(f"the TTL attribute {self.ttl!r} is epoch seconds, an int")
        if model.version is not None and any(model.version in t.names for t in model.templates.values()):
            raise TemplateError(f"the version {model.version!r} can't be part of a key")

    def _separate(self, model: Model[Any], other: Model[Any]) -> None:
        """Two entities whose primary keys can be the same would overwrite each other."""
        for mine_name, mine in _shapes(model):
            for theirs_name, theirs in _shapes(other):
                if mine is theirs or (model is other and mine_name == theirs_name):
                    continue
                pairs = [(mine[key], theirs[key]) for key in self.key_names]
                _close(pairs)
                if all(could_be_equal(one, two) for one, two in pairs):
                    raise TemplateError(f"its keys {mine_name} can be those of {other.name} ({theirs_name})")
        for index in self.indexes.values():
            keys = index.key_names
            if model is not other and all(k in model.templates and k in other.templates for k in keys):
                _close([(model.templates[key], other.templates[key]) for key in index.key_names])


def _close(pairs: Sequence[tuple[Template, Template]]) -> None:
    meet = [could_be_equal(one, two) for one, two in pairs]
    for place, (one, two) in enumerate(pairs):
        if all(others for index, others in enumerate(meet) if index != place):
            close_against(one, two)


def _shapes(model: Model[Any]) -> list[tuple[str, dict[str, Template]]]:
    own = {name: model.templates[name] for name in model.table.key_names}
    shapes = [(" ".join(template.text for template in own.values()), own)]
    return shapes + [(guard.name, guard.templates) for guard in model.guards]


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise TemplateError(f"{name!r}: a name has 3 to 255 of A-Z a-z 0-9 _ . -")


def _index(name: str, declared: str | Index) -> Index:
    _check_name(name)
    index = Index(declared) if isinstance(declared, str) else declared
    index.name = name
    return index


def _parse_keys(keys: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    names, kinds = [], []
    for part in keys.split():
        name, _, kind = part.partition(":")
        if kind not in ("", "S", "N"):
            raise TemplateError(f"{part!r}: a key is text (S) or a number (N)")
        if not name.isidentifier():
            raise TemplateError(f"{name!r} is no name of an attribute")
        names.append(name)
        kinds.append(kind or "S")
    if not 1 <= len(names) <= 2:
        raise TemplateError(f"{keys!r}: a partition key, and perhaps a sort key")
    return tuple(names), tuple(kinds)


def caller() -> tuple[str, int]:
    """The file and line of the declaration that is being made."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and str(Path(frame.f_code.co_filename).parent) == _HERE:
        frame = frame.f_back
    if frame is None:
        return "?", 0
    return frame.f_code.co_filename, frame.f_lineno
