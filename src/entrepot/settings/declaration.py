"""How a part declares its settings: a `Section` whose fields carry what they mean."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Literal, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit

import msgspec

PREFIX = "ENTREPOT_"


class Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of one part; `section` is its table in the file and the start of its variables' names."""

    section: ClassVar[str] = ""


def says(
    meaning: str,
    *,
    secret: bool = False,
    testing: bool = False,
    check: Callable[[Any], str | None] | None = None,
) -> msgspec.Meta:
    """What a setting means; `check` answers with a complaint, or None when the value will do."""
    return msgspec.Meta(description=meaning, extra={"secret": secret, "testing": testing, "check": check})


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """One declared setting."""

    section: type[Section]
    field: str
    type: Any
    default: Any
    meaning: str
    secret: bool
    testing: bool
    check: Callable[[Any], str | None] | None

    @property
    def key(self) -> str:
        """Its name in the file: `port`, `relay.allow_http`."""
        return f"{self.section.section}.{self.field}" if self.section.section else self.field

    @property
    def variable(self) -> str:
        return PREFIX + self.key.replace(".", "_").upper()

    @property
    def flag(self) -> str:
        return "--" + self.key.replace(".", "-").replace("_", "-")

    @property
    def is_table(self) -> bool:
        """Nested tables can be said only in the file."""
        plain = get_args(self.type)[0]
        return get_origin(plain) is dict or (isinstance(plain, type) and issubclass(plain, msgspec.Struct))

    @property
    def choices(self) -> tuple[str, ...]:
        """What it can be, where that is a short list."""
        plain = get_args(self.type)[0]
        return get_args(plain) if get_origin(plain) is Literal else ()

    @property
    def is_list(self) -> bool:
        return get_origin(get_args(self.type)[0]) is tuple

    @property
    def is_switch(self) -> bool:
        return get_args(self.type)[0] is bool


def declared(sections: Sequence[type[Section]]) -> list[Setting]:
    """Every setting of these sections."""
    return [setting for section in sections for setting in _settings_of(section)]


def shown(setting: Setting, value: Any) -> str:
    """A value as it may be printed: secrets are masked, of an address only the password."""
    if value is None or value == ():
        return "-"
    if not setting.secret:
        return ",".join(value) if setting.is_list else str(value).lower() if setting.is_switch else str(value)
    parts = urlsplit(str(value))
    if not parts.scheme or not parts.hostname:
        return "********"
    user = f"{parts.username}:********@" if parts.password else f"{parts.username}@" if parts.username else ""
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{user}{parts.hostname}{port}{parts.path}"


def _settings_of(section: type[Section]) -> Iterator[Setting]:
    hints = get_type_hints(section, include_extras=True)
    for field in msgspec.structs.fields(section):
        hint = hints[field.name]
        meta = next((entry for entry in getattr(hint, "__metadata__", ()) if entry.extra is not None), None)
        if meta is None or meta.description is None or field.required:
            raise TypeError(f"{section.__name__}.{field.name} needs a default and says(...)")
        default = field.default if field.default is not msgspec.NODEFAULT else None
        extra = meta.extra or {}
        yield Setting(
            section=section, field=field.name, type=hint, default=default, meaning=meta.description,
            secret=extra["secret"], testing=extra["testing"], check=extra["check"],
        )  # fmt: skip
