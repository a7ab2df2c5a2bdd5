"""The configuration that a board keeps in its EEPROM: a C struct, byte for byte.

Layout 1, as the ESP8266's compiler lays the seed's struct out (184 bytes, not the 181 that its fields add up to):

    0    char composite_device_id[15]
    15   char wifi_ssid[33]
    48   char wifi_password[64]
    112  char device_key[65]
    177  padding, zero
    180  uint32_t crc32           little endian, zlib's, of the first 180 bytes
"""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Callable

import msgspec
import segno

from entrepot.fleet.errors import WrongValue
from entrepot.fleet.rules import is_composite_id

SSID_BYTES_MAX = 32
PASSWORD_BYTES_MIN = 8
PASSWORD_BYTES_MAX = 63
BYTES_PER_LINE = 12

_KEY = re.compile(r"[0-9a-fA-F]{64}", re.ASCII)


class DeviceConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What a board has to know to join the network and to report in."""

    composite_device_id: str
    ssid: str
    password: str
    device_key: str


class Layout(msgspec.Struct, frozen=True):
    """A version of the struct: how large it is, and how it is written and read."""

    number: int
    size: int
    encode: Callable[[DeviceConfig], bytes]
    decode: Callable[[bytes], DeviceConfig]


def layout_of(number: int) -> Layout:
    """The layout of this number."""
    found = LAYOUTS.get(number)
    if found is None:
        raise WrongValue("layout", f"must be one of {', '.join(map(str, LAYOUTS))}, not {number}")
    return found


def encode(config: DeviceConfig, *, layout: int = 1) -> bytes:
    """The bytes of a configuration that keeps all limits; they count UTF-8 bytes."""
    return layout_of(layout).encode(checked(config))


def decode(blob: bytes, *, layout: int = 1) -> DeviceConfig:
    """The configuration in these bytes; refused when a board would not trust them."""
    expected = layout_of(layout)
    if len(blob) != expected.size:
        raise WrongValue("blob", f"must be {expected.size} bytes, not {len(blob)}")
    if blob == b"\xff" * expected.size:
        raise WrongValue("blob", "is erased: nothing was ever written")
    if blob == b"\x00" * expected.size:
        raise WrongValue("blob", "is empty: all bytes are zero")
    return checked(expected.decode(blob))


def checked(config: DeviceConfig) -> DeviceConfig:
    """A configuration that a board can use."""
    if not is_composite_id(config.composite_device_id):
        raise WrongValue("composite_device_id", "must be like PROJ1-ESP5")
    ssid, password = config.ssid.encode(), config.password.encode()
    if not 1 <= len(ssid) <= SSID_BYTES_MAX or b"\0" in ssid:
        raise WrongValue("ssid", f"must be 1 to {SSID_BYTES_MAX} bytes, without NUL")
    if (password and not PASSWORD_BYTES_MIN <= len(password) <= PASSWORD_BYTES_MAX) or b"\0" in password:
        raise WrongValue(
            "password", f"must be empty or {PASSWORD_BYTES_MIN} to {PASSWORD_BYTES_MAX} bytes, without NUL"
        )
    if not _KEY.fullmatch(config.device_key):
        raise WrongValue("device_key", "must be 64 hex digits")
    return config


def as_c(blob: bytes) -> str:
    """The bytes as a C array to compile into a sketch."""
    lines = [
        "  " + ", ".join(f"0x{byte:02X}" for byte in blob[at : at + BYTES_PER_LINE])
        for at in range(0, len(blob), BYTES_PER_LINE)
    ]
    return f"const uint8_t device_config[{len(blob)}] = {{\n" + ",\n".join(lines) + "\n};\n"


def as_qr(blob: bytes) -> bytes:
    """The bytes in hex as a QR code (SVG), for the set-up portal to scan."""
    # Upper-case hex is in a QR code's own alphabet and takes less room than bytes that readers may take for text.
    code = segno.make("ESP1" + blob.hex().upper(), error="m", micro=False)
    out = io.BytesIO()
    code.save(out, kind="svg", scale=4, border=4)
    return out.getvalue()


def _encode_1(config: DeviceConfig) -> bytes:
    body = b"".join(
        text.encode().ljust(size, b"\0") for text, size in zip(_texts(config), _SIZES_1, strict=True)
    )
    body = body.ljust(_CRC_AT_1, b"\0")
    return body + zlib.crc32(body).to_bytes(4, "little")


def _decode_1(blob: bytes) -> DeviceConfig:
    kept, computed = int.from_bytes(blob[_CRC_AT_1:], "little"), zlib.crc32(blob[:_CRC_AT_1])
    if kept != computed:
        raise WrongValue("blob", f"has the checksum 0x{kept:08X}, its bytes give 0x{computed:08X}")
    texts: list[str] = []
    at = 0
    for name, size in zip(DeviceConfig.__struct_fields__, _SIZES_1, strict=True):
        # Behind the first NUL may stand whatever a shorter value was written over.
        text, end, _ = blob[at : at + size].partition(b"\0")
        at += size
        if not end:
            raise WrongValue("blob", f"has no end of {name}")
        try:
            texts.append(text.decode())
        except UnicodeDecodeError:
            raise WrongValue("blob", f"has a {name} that is not UTF-8") from None
    return DeviceConfig(composite_device_id=texts[0], ssid=texts[1], password=texts[2], device_key=texts[3])


def _texts(config: DeviceConfig) -> tuple[str, str, str, str]:
    return config.composite_device_id, config.ssid, config.password, config.device_key


_SIZES_1 = (15, 33, 64, 65)
_CRC_AT_1 = 180

LAYOUTS = {1: Layout(1, _CRC_AT_1 + 4, _encode_1, _decode_1)}
