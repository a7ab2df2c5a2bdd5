"""Which keys could be mistaken for which: pattern against template, template against template."""

from __future__ import annotations

from typing import Any

from entrepot.tables.fields import base_of, identity_of
from entrepot.tables.keys import HIGHEST, Segment, Slot, Template, TemplateError, split_format

Arguments = dict[str, Any]


def align(text: str, template: Template, arguments: Arguments, *, delimiter: str, whole: bool) -> Template:
    """The pattern's text on the entity's slots: `whole` must build all of the key, else a beginning of it."""
    parts: list[str | tuple[str, str]] = []
    for literal, name, spec in split_format(text):
        if literal:
            parts.append(literal)
        if name is None:
            continue
        if name not in arguments:
            raise TemplateError(f"{text!r} names {name!r}, which is not an argument")
        parts.append((name, spec))
    open_end = bool(parts) and isinstance(parts[-1], str) and parts[-1].endswith(HIGHEST) and not whole
    if open_end:
        parts[-1] = str(parts[-1]).removesuffix(HIGHEST)
    bound = _Alignment(text, template, arguments, delimiter).run(parts, whole=whole)
    if open_end:
        bound.append(HIGHEST)
    return Template(text, bound, delimiter=delimiter, bytes_max=template.bytes_max)


class _Alignment:
    """Matches a pattern with a template, segment by segment."""

    def __init__(self, text: str, template: Template, arguments: Arguments, delimiter: str) -> None:
        self.text = text
        self.template = template
        self.arguments = arguments
        self.delimiter = delimiter

    def run(self, parts: list[str | tuple[str, str]], *, whole: bool) -> list[str | tuple[str, Slot]]:
        mine = _split_pattern(parts, self.delimiter)
        theirs = self.template.segments
        if len(mine) > len(theirs) or (whole and len(mine) < len(theirs)):
            raise self._mismatch()
        bound: list[str | tuple[str, Slot]] = []
        for index, segment in enumerate(mine):
            if index:
                bound.append(self.delimiter)
            last = index == len(mine) - 1
            bound.extend(self._segment(segment, theirs[index], partial=last and not whole))
        return bound

    def _segment(
        self, mine: list[str | tuple[str, str]], theirs: Segment, *, partial: bool
    ) -> list[str | tuple[str, Slot]]:
        if len(mine) > len(theirs) or (not partial and len(mine) != len(theirs)):
            raise self._mismatch()
        return [
            self._part(part, theirs[index], partial=partial and index == len(mine) - 1)
            for index, part in enumerate(mine)
        ]

    def _part(
        self, part: str | tuple[str, str], their: str | tuple[str, Slot], *, partial: bool
    ) -> str | tuple[str, Slot]:
        if isinstance(part, str):
            if isinstance(their, str):
                fits = their.startswith(part) if partial else their == part
            else:
                fits = partial or their[1].could_be(part)
            if not fits:
                raise self._mismatch()
            return part
        if isinstance(their, str):
            raise self._mismatch()
        name, spec = part
        self._check_argument(name, spec, their[1])
        return name, their[1]

    def _check_argument(self, name: str, spec: str, slot: Slot) -> None:
        annotation = self.arguments[name]
        if slot.spec.startswith("%") and spec == "":
            if base_of(annotation) is not str:
                raise TemplateError(f"{self.text!r}: {name!r} stands for a date and must be text")
            return
        if spec != slot.spec:
            wanted = f"{{{name}:{slot.spec}}}" if slot.spec else f"{{{name}}}"
            raise TemplateError(f"{self.text!r}: {slot.entity} writes this place as {wanted}")
        wanted_type = slot.field.identity
        if annotation is not Any and identity_of(annotation) is not wanted_type:
            raise TemplateError(
                f"{self.text!r}: {name!r} is {_name_of(identity_of(annotation))}, "
                f"but {slot.entity}.{slot.name} is {_name_of(wanted_type)}"
            )

    def _mismatch(self) -> TemplateError:
        return TemplateError(f"{self.text!r} can't build the key {self.template.text!r}")


def _split_pattern(parts: list[str | tuple[str, str]], delimiter: str) -> list[list[str | tuple[str, str]]]:
    segments: list[list[str | tuple[str, str]]] = [[]]
    for part in parts:
        if not isinstance(part, str):
            segments[-1].append(part)
            continue
        first, *rest = part.split(delimiter)
        if first:
            segments[-1].append(first)
        segments.extend([piece] if piece else [] for piece in rest)
    return segments


def _name_of(kind: Any) -> str:
    return getattr(kind, "__name__", str(kind))


def could_be_equal(one: Template, other: Template) -> bool:
    """Whether the two templates can make the same key."""
    if len(one.segments) != len(other.segments):
        shorter, longer = sorted((one, other), key=lambda template: len(template.segments))
        return _continues(shorter, longer) and _last_slot(shorter).open
    return all(
        _segments_meet(mine, theirs) for mine, theirs in zip(one.segments, other.segments, strict=True)
    )


def close_against(one: Template, other: Template) -> None:
    """Where one template's keys continue the other's last value, that value may not hold the delimiter."""
    if len(one.segments) == len(other.segments):
        return
    shorter, longer = sorted((one, other), key=lambda template: len(template.segments))
    if _continues(shorter, longer) and _last_slot(shorter).open:
        _last_slot(shorter).close()


def could_begin(prefix: Template, template: Template) -> bool:
    """Whether a key of the template can begin with the prefix."""
    for index, mine in enumerate(prefix.segments):
        if index >= len(template.segments):
            return _ends_in_slot(template) and _last_slot(template).open
        theirs = template.segments[index]
        if index == len(prefix.segments) - 1:
            return _could_begin_segment(mine, theirs)
        if not _segments_meet(mine, theirs):
            return False
    return True


def _could_begin_segment(mine: Segment, theirs: Segment) -> bool:
    if not mine or not theirs:
        return not mine
    first, their = mine[0], theirs[0]
    if isinstance(first, str) and isinstance(their, str):
        return their.startswith(first) or first.startswith(their)
    return True


def _continues(shorter: Template, longer: Template) -> bool:
    return _ends_in_slot(shorter) and all(
        _segments_meet(mine, theirs) for mine, theirs in zip(shorter.segments, longer.segments, strict=False)
    )


def _ends_in_slot(template: Template) -> bool:
    return bool(template.parts) and not isinstance(template.parts[-1], str)


def _last_slot(template: Template) -> Slot:
    return template.slots[-1]


def _segments_meet(mine: Segment, theirs: Segment) -> bool:
    if not mine or not theirs:
        return mine == theirs
    if len(mine) == 1 and len(theirs) == 1:
        return _parts_meet(mine[0], theirs[0])
    first, their = mine[0], theirs[0]
    if isinstance(first, str) and isinstance(their, str):
        return first.startswith(their) or their.startswith(first)
    return True


def _parts_meet(mine: str | tuple[str, Slot], theirs: str | tuple[str, Slot]) -> bool:
    if isinstance(mine, str):
        return mine == theirs if isinstance(theirs, str) else theirs[1].could_be(mine)
    if isinstance(theirs, str):
        return mine[1].could_be(theirs)
    one, other = mine[1].field.values, theirs[1].field.values
    return one is None or other is None or bool(set(one) & set(other))
