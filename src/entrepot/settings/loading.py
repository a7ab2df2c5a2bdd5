"""Reading settings: flags first, then `ENTREPOT_*` variables, then `entrepot.toml`, then the defaults."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec

from entrepot.settings.declaration import PREFIX, Section, Setting, declared, shown

FILE_NAME = "entrepot.toml"

S = TypeVar("S", bound=Section)


class SettingsError(Exception):
    """A setting that is unknown or wrong; the message is one line that names it."""


def load(
    sections: Sequence[type[Section]],
    *,
    environment: Mapping[str, str],
    flags: Mapping[str, Any] | None = None,
    config: Path | None = None,
    directory: Path | None = None,
) -> Settings:
    """Read the settings; `flags` maps keys to text, `config` names the file instead of `entrepot.toml`."""
    known = declared(sections)
    given: dict[str, tuple[Any, Origin]] = {}
    given.update(_from_file(known, config, directory or Path.cwd()))
    given.update(_from_environment(known, environment))
    given.update(_from_flags(known, flags or {}))
    values: dict[type[Section], dict[str, Any]] = {section: {} for section in sections}
    origins: dict[str, str] = {}
    for setting in known:
        value, origin = given.get(setting.key, (None, None))
        origins[setting.key] = origin.text if origin else "default"
        if origin:
            values[setting.section][setting.field] = _convert(setting, value, origin)
    loaded = Settings({section: section(**values[section]) for section in sections}, origins, known)
    _refuse_testing(loaded)
    return loaded


class Settings:
    """All sections with their values; `settings[Core].port`."""

    def __init__(
        self,
        sections: Mapping[type[Section], Section],
        origins: Mapping[str, str],
        declared: Sequence[Setting],
    ) -> None:
        self._sections = sections
        self.origins = origins
        self.declared = declared

    def __getitem__(self, section: type[S]) -> S:
        return cast("S", self._sections[section])

    def changed(self, section: type[Section], origin: str, **values: Any) -> Settings:
        """These settings with others in their place, which came from `origin`."""
        sections = {**self._sections, section: msgspec.structs.replace(self._sections[section], **values)}
        keys = [
            setting.key for setting in self.declared if setting.section is section and setting.field in values
        ]
        return Settings(sections, {**self.origins, **dict.fromkeys(keys, origin)}, self.declared)

    def value(self, setting: Setting) -> Any:
        return getattr(self._sections[setting.section], setting.field)

    def rows(self) -> Iterator[tuple[str, str, str, str]]:
        """Name, value with secrets masked, origin and meaning of each, in the order they are declared."""
        for setting in self.declared:
            yield (
                setting.variable,
                shown(setting, self.value(setting)),
                self.origins[setting.key],
                setting.meaning,
            )


class Origin(msgspec.Struct, frozen=True):
    """Where a value came from, as it is shown: `ENTREPOT_PORT`, `--port`, `entrepot.toml`, `default`."""

    text: str
    from_text: bool = False


def _from_file(
    known: Sequence[Setting], config: Path | None, directory: Path
) -> Iterator[tuple[str, tuple[Any, Origin]]]:
    path = config or directory / FILE_NAME
    if not path.exists():
        if config:
            raise SettingsError(f"{config}: there is no such file (--config)")
        return
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: not readable as TOML: {error}") from None
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror}") from None
    keys = [setting.key for setting in known]
    sections = {setting.section.section for setting in known} - {""}
    for name, value in content.items():
        inner = {f"{name}.{key}": part for key, part in value.items()} if name in sections else {name: value}
        for key, found in inner.items():
            if key not in keys:
                raise SettingsError(f"{path}: there is no setting {key!r}{_nearest(key, keys)}")
            yield key, (found, Origin(f"{path.name}: {key}"))


def _from_environment(
    known: Sequence[Setting], environment: Mapping[str, str]
) -> Iterator[tuple[str, tuple[Any, Origin]]]:
    variables = {setting.variable: setting for setting in known if not setting.is_table}
    for name, text in environment.items():
        if not name.startswith(PREFIX):
            continue
        if name not in variables:
            raise SettingsError(f"{name}: there is no such setting{_nearest(name, list(variables))}")
        yield variables[name].key, (text, Origin(name, from_text=True))


def _from_flags(
    known: Sequence[Setting], flags: Mapping[str, Any]
) -> Iterator[tuple[str, tuple[Any, Origin]]]:
    for setting in known:
        value = flags.get(setting.key)
        if value is not None:
            yield setting.key, (value, Origin(setting.flag, from_text=True))


def _convert(setting: Setting, value: Any, origin: Origin) -> Any:
    if origin.from_text and setting.is_list:
        value = tuple(part.strip() for part in value.split(",") if part.strip())
    complaint: str | None
    try:
        converted = msgspec.convert(value, setting.type, strict=not origin.from_text)
        complaint = setting.check(converted) if setting.check and converted is not None else None
    except msgspec.ValidationError as error:
        complaint = _complaint(setting, str(error))
    if complaint is None:
        return converted
    given = "" if setting.secret or setting.is_table else f" ({value!r})"
    raise SettingsError(f"{origin.text}{given}: {complaint}. It means: {setting.meaning}")


def _complaint(setting: Setting, message: str) -> str:
    if choices := setting.choices:
        return f"expected one of {', '.join(choices)}"
    if setting.is_switch:
        return "expected true or false"
    return message[:1].lower() + message[1:].replace("`", "")


def _refuse_testing(settings: Settings) -> None:
    by_key = {setting.key: setting for setting in settings.declared}
    if "testing" in by_key and settings.value(by_key["testing"]):
        return
    for setting in settings.declared:
        if setting.testing and settings.origins[setting.key] != "default":
            raise SettingsError(f"{settings.origins[setting.key]}: only for tests, with {PREFIX}TESTING=1")


def _nearest(name: str, names: Sequence[str]) -> str:
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""
