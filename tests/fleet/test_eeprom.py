"""The bytes of a board's EEPROM: the vector, the limits, the way there and back."""

from __future__ import annotations

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entrepot.fleet import eeprom
from entrepot.fleet.eeprom import DeviceConfig
from entrepot.fleet.errors import WrongValue
from tests.fleet.boards import project, register
from tests.fleet.serving import Serving

KEY = "0123456789abcdef" * 4
VECTOR = DeviceConfig(
    composite_device_id="PROJ1-ESP5", ssid="MyWiFi", password="MyPassword123", device_key=KEY
)


def test_the_vector_has_its_checksum_and_its_places() -> None:
    blob = eeprom.encode(VECTOR)
    assert len(blob) == 184
    assert int.from_bytes(blob[180:], "little") == 0x6581B43B
    assert blob[0:11] == b"PROJ1-ESP5\0"
    assert blob[15:22] == b"MyWiFi\0"
    assert blob[48:62] == b"MyPassword123\0"
    assert blob[112:177] == KEY.encode() + b"\0"
    assert blob[177:180] == b"\0\0\0"


def _bytes_within(low: int, high: int) -> st.SearchStrategy[str]:
    text = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=high)
    return text.filter(lambda value: low <= len(value.encode()) <= high)


configs = st.builds(
    DeviceConfig,
    composite_device_id=st.from_regex(
        r"\A(PROJ(0|[1-9][0-9]{0,2})|P[1-9][0-9]{3})-ESP(1[0-9]|20|[1-9])\Z", fullmatch=True
    ),
    ssid=_bytes_within(1, 32),
    password=st.one_of(st.just(""), st.text("abc€", min_size=8, max_size=20)),
    device_key=st.binary(min_size=32, max_size=32).map(bytes.hex),
)


@given(configs)
def test_what_is_written_is_read_again(config: DeviceConfig) -> None:
    assert eeprom.decode(eeprom.encode(config)) == config


@given(configs, st.integers(0, 183), st.integers(1, 255))
def test_a_changed_byte_is_noticed(config: DeviceConfig, at: int, change: int) -> None:
    blob = bytearray(eeprom.encode(config))
    blob[at] ^= change
    with pytest.raises(WrongValue):
        eeprom.decode(bytes(blob))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("composite_device_id", "PROJ01-ESP1"),
        ("composite_device_id", "PROJ1-ESP5\n"),
        ("composite_device_id", "PROJ1-ESP\u0665"),
        ("ssid", ""),
        ("ssid", "x" * 33),
        ("ssid", "€" * 11),
        ("ssid", "a\0b"),
        ("password", "seven77"),
        ("password", "x" * 64),
        ("device_key", KEY[:-1]),
        ("device_key", "g" * 64),
    ],
)
def test_what_a_board_could_not_use_is_refused(field: str, value: str) -> None:
    fields = {name: getattr(VECTOR, name) for name in DeviceConfig.__struct_fields__}
    with pytest.raises(WrongValue) as refused:
        eeprom.encode(DeviceConfig(**{**fields, field: value}))
    assert refused.value.field == field


def test_limits_are_of_bytes_and_open_networks_have_no_password() -> None:
    for ssid, password in (("€" * 10 + "ab", ""), ("x", "x" * 63), ("x", "x" * 8)):
        config = DeviceConfig(composite_device_id="P9999-ESP20", ssid=ssid, password=password, device_key=KEY)
        assert eeprom.decode(eeprom.encode(config)) == config


@pytest.mark.parametrize("blob", [b"", b"\xff" * 184, b"\0" * 184, b"\0" * 183, b"\xff" * 181])
def test_erased_and_cut_blobs_are_invalid(blob: bytes) -> None:
    with pytest.raises(WrongValue):
        eeprom.decode(blob)


def test_a_field_without_an_end_or_of_another_encoding_is_invalid() -> None:
    for at, change in ((15, b"x" * 33), (15, b"\xff\xfe\0"), (0, b"PROJ1-ESP5xxxxx")):
        body = bytearray(eeprom.encode(VECTOR)[:180])
        body[at : at + len(change)] = change
        with pytest.raises(WrongValue):
            eeprom.decode(bytes(body) + zlib.crc32(body).to_bytes(4, "little"))


def test_what_stands_behind_the_end_of_a_text_does_not_matter() -> None:
    body = bytearray(eeprom.encode(VECTOR)[:180])
    body[30:40] = b"leftovers!"
    assert eeprom.decode(bytes(body) + zlib.crc32(body).to_bytes(4, "little")) == VECTOR


def test_only_known_layouts_are_written() -> None:
    with pytest.raises(WrongValue):
        eeprom.encode(VECTOR, layout=2)


def test_a_board_gets_its_blob_for_its_own_key_alone(fleet: Serving) -> None:
    board = register(fleet.alice, project(fleet.alice))
    path = f"/fleet/devices/{board.id}/config"
    asked = {"ssid": "MyWiFi", "password": "MyPassword123", "device_key": board.key}
    answer = fleet.alice.post(path, json=asked)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/octet-stream"
    read = fleet.alice.post(
        "/fleet/config/decode", content=answer.content, headers={"Content-Type": "application/octet-stream"}
    )
    assert read.json() == {"composite_device_id": board.id, **asked}
    wrong = fleet.alice.post(path, json={**asked, "device_key": "0" * 64})
    assert (wrong.status_code, wrong.json()["errors"][0]["field"]) == (400, "device_key")
    assert fleet.alice.post(f"{path}?layout=9", json=asked).status_code == 400
    assert fleet.alice.post(f"{path}?format=pdf", json=asked).status_code == 400
    as_c = fleet.alice.post(f"{path}?format=c", json=asked)
    assert "const uint8_t device_config[184] = {" in as_c.text
    values = [
        int(part, 16) for part in as_c.text.partition("{")[2].partition("}")[0].replace("\n", "").split(",")
    ]
    assert bytes(values) == answer.content
    as_qr = fleet.alice.post(f"{path}?format=qr", json=asked)
    assert as_qr.headers["content-type"] == "image/svg+xml"
    assert b"<svg" in as_qr.content
    assert b"xmlns" in as_qr.content
    broken = fleet.alice.post("/fleet/config/decode", content=b"\xff" * 184)
    assert broken.status_code == 400
