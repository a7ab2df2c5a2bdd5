"""Settings come from flags, variables and a file, in that order, and wrong ones are named."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import pytest

from entrepot.settings import Core, Section, Settings, SettingsError, declared, load, says


class Plan(msgspec.Struct, forbid_unknown_fields=True):
    events: int


class RelayLike(Section, frozen=True, kw_only=True):
    """A section as a later service declares it."""

    section = "relay"

    allow_http: Annotated[bool, says("whether deliveries may go without TLS")] = False
    networks: Annotated[tuple[str, ...], says("networks that may be delivered to")] = ()
    plans: Annotated[dict[str, Plan], says("what each plan allows")] = {}


def read(
    environment: dict[str, str] | None = None, flags: dict[str, str] | None = None, *, directory: Path
) -> Settings:
    return load([Core, RelayLike], environment=environment or {}, flags=flags, directory=directory)


def test_a_flag_wins_over_a_variable_and_a_variable_over_the_file(tmp_path: Path) -> None:
    (tmp_path / "entrepot.toml").write_text('port = 1001\nhost = "file"\nsignup = "open"\n')

    settings = read(
        {"ENTREPOT_PORT": "1002", "ENTREPOT_HOST": "variable"}, {"port": "1003"}, directory=tmp_path
    )

    core = settings[Core]
    assert (core.port, core.host, core.signup, core.data_dir) == (1003, "variable", "open", "./data")
    origins = {key: settings.origins[key] for key in ("port", "host", "signup", "data_dir")}
    assert origins == {
        "port": "--port", "host": "ENTREPOT_HOST", "signup": "entrepot.toml: signup", "data_dir": "default",
    }  # fmt: skip


def test_a_section_has_a_table_variables_and_nested_tables(tmp_path: Path) -> None:
    (tmp_path / "entrepot.toml").write_text("[relay]\nallow_http = true\n[relay.plans.free]\nevents = 5\n")

    relay = read({"ENTREPOT_RELAY_NETWORKS": "10.0.0.0/8, ::1"}, directory=tmp_path)[RelayLike]

    assert relay == RelayLike(allow_http=True, networks=("10.0.0.0/8", "::1"), plans={"free": Plan(events=5)})


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"ENTREPOT_PROT": "1"}, ["ENTREPOT_PROT", "ENTREPOT_PORT"]),
        ({"ENTREPOT_RELAY_ALOW_HTTP": "1"}, ["ENTREPOT_RELAY_ALLOW_HTTP"]),
        ({"ENTREPOT_PORT": "eighty"}, ["ENTREPOT_PORT", "eighty", "int"]),
        ({"ENTREPOT_PORT": "70000"}, ["ENTREPOT_PORT", "65535"]),
        ({"ENTREPOT_SIGNUP": "all"}, ["ENTREPOT_SIGNUP", "open, closed, invite"]),
        ({"ENTREPOT_STORE": "mysql://x"}, ["ENTREPOT_STORE", "dynamodb://REGION"]),
        ({"ENTREPOT_PUBLIC_URL": "example.org"}, ["ENTREPOT_PUBLIC_URL", "http(s)://HOST"]),
        ({"ENTREPOT_TRUSTED_PROXIES": "10.0.0.0/8,proxy"}, ["ENTREPOT_TRUSTED_PROXIES", "'proxy'"]),
        ({"ENTREPOT_TESTING": "maybe"}, ["ENTREPOT_TESTING", "true or false"]),
        ({"ENTREPOT_CLOCK_OFFSET_SECONDS": "5"}, ["ENTREPOT_CLOCK_OFFSET_SECONDS", "ENTREPOT_TESTING=1"]),
        ({"ENTREPOT_CHAOS": "throttle=0.1"}, ["ENTREPOT_CHAOS", "ENTREPOT_TESTING=1"]),
    ],
)
def test_an_unknown_or_wrong_variable_is_named_in_one_line(
    environment: dict[str, str], words: list[str], tmp_path: Path
) -> None:
    with pytest.raises(SettingsError) as caught:
        read(environment, directory=tmp_path)

    message = str(caught.value)
    assert "\n" not in message
    for word in words:
        assert word in message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("prot = 1", ["prot", "did you mean 'port'"]),
        ('port = "80"', ["port", "expected int"]),
        ("[relay]\nallow = true", ["relay.allow", "relay.allow_http"]),
        ("[relay.plans.free]\nevnets = 1", ["relay.plans", "evnets"]),
        ("[relais]\nx = 1", ["relais"]),
        ("port = ", ["not readable as TOML"]),
    ],
)
def test_an_unknown_or_wrong_line_of_the_file_is_named(text: str, words: list[str], tmp_path: Path) -> None:
    (tmp_path / "entrepot.toml").write_text(text)

    with pytest.raises(SettingsError) as caught:
        read(directory=tmp_path)

    for word in ["entrepot.toml", *words]:
        assert word in str(caught.value)


def test_a_wrong_secret_is_named_without_its_value(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        read({"ENTREPOT_ADMIN_TOKEN": "hunter2"}, directory=tmp_path)

    assert "ENTREPOT_ADMIN_TOKEN" in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_a_file_that_was_asked_for_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no such file"):
        load([Core], environment={}, config=tmp_path / "other.toml")


def test_testing_settings_are_allowed_when_testing(tmp_path: Path) -> None:
    given = {"ENTREPOT_TESTING": "1", "ENTREPOT_CLOCK_OFFSET_SECONDS": "3600"}

    assert read(given, directory=tmp_path)[Core].clock_offset_seconds == 3600


def test_secrets_are_masked_and_of_an_address_only_the_password(tmp_path: Path) -> None:
    given = {
        "ENTREPOT_ADMIN_TOKEN": "correct-horse-battery",
        "ENTREPOT_POSTGRES_URL": "postgresql://fleet:hunter2@db:5432/fleet",
    }

    shown = {name: value for name, value, _, _ in read(given, directory=tmp_path).rows()}

    assert shown["ENTREPOT_ADMIN_TOKEN"] == "********"
    assert shown["ENTREPOT_POSTGRES_URL"] == "postgresql://fleet:********@db:5432/fleet"
    assert shown["ENTREPOT_SECRET_KEY"] == "-"


def test_every_setting_says_what_it_means() -> None:
    assert all(setting.meaning for setting in declared([Core]))

    class Silent(Section, frozen=True, kw_only=True):
        section = "silent"
        loud: bool = False

    with pytest.raises(TypeError, match=r"Silent\.loud"):
        declared([Silent])
