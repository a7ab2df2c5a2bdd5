"""Fills in what the documentation derives from the code: the table of settings."""

from typing import Any

from entrepot.app import SECTIONS
from entrepot.settings import declared, shown

MARK = "<!-- the table of settings -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    return markdown.replace(MARK, settings_table()) if MARK in markdown else markdown


def settings_table() -> str:
    lines = ["| Variable | Flag | Line of the file | Default | Meaning |", "|---|---|---|---|---|"]
    for setting in declared(SECTIONS):
        default = "-" if setting.default in (None, "", ()) else f"`{shown(setting, setting.default)}`"
        choices = f" ({', '.join(setting.choices)})" if setting.choices else ""
        testing = "; **tests only**" if setting.testing else ""
        names = f"`{setting.variable}` | `{setting.flag}` | `{setting.key}`"
        lines.append(f"| {names} | {default} | {setting.meaning}{choices}{testing} |")
    return "\n".join(lines)
