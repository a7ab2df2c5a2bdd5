"""Settings: declared once per part; given by a flag, an `ENTREPOT_*` variable or a line of `entrepot.toml`.

The first of the three counts. From one declaration come the variable's name, the flag, the line of the file,
the check, and what `entrepot settings` prints.
"""

from entrepot.settings.core import Core
from entrepot.settings.declaration import PREFIX, Section, Setting, declared, says, shown
from entrepot.settings.loading import FILE_NAME, Settings, SettingsError, load

__all__ = [
    "FILE_NAME",
    "PREFIX",
    "Core",
    "Section",
    "Setting",
    "Settings",
    "SettingsError",
    "declared",
    "load",
    "says",
    "shown",
]
