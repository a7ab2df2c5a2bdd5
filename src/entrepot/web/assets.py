"""Files that browsers load: our own, and those that the build takes from npm."""

from __future__ import annotations

import hashlib
import mimetypes
from pathlib import Path

import msgspec

HERE = Path(__file__).parent
BUILT = HERE / "assets"
OWN = HERE / "docs"

# For files whose name stays while their content may change with a new version.
CACHE_CONTROL = "public, max-age=0, must-revalidate"


class Asset(msgspec.Struct, frozen=True):
    """A file as it is sent; `packed` is the same in gzip, where the build made one."""

    content: bytes
    packed: bytes | None
    media_type: str
    etag: str


class Assets:
    """All files by name, read when first asked for."""

    def __init__(self, *folders: Path) -> None:
        self._folders = folders
        self._read: dict[str, Asset] = {}

    def find(self, name: str) -> Asset | None:
        """The file of this name, or None."""
        if name not in self._read:
            asset = self._load(name)
            if asset is None:
                return None
            self._read[name] = asset
        return self._read[name]

    def _load(self, name: str) -> Asset | None:
        # Only plain names: nothing that could lead out of the folders.
        if name != Path(name).name or name.startswith("."):
            return None
        for folder in self._folders:
            path = folder / name
            if path.is_file():
                content = path.read_bytes()
                packed = path.with_name(path.name + ".gz")
                return Asset(
                    content=content,
                    packed=packed.read_bytes() if packed.is_file() else None,
                    media_type=mimetypes.guess_type(name)[0] or "application/octet-stream",
                    etag=f'"{hashlib.sha256(content).hexdigest()[:20]}"',
                )
        return None
