"""Virtual boards: the seed's state machine, and many of them at a real server."""

from __future__ import annotations

import subprocess
import sys

import pytest

from entrepot.fleet.board import ERASED, Board, State
from entrepot.fleet.eeprom import DeviceConfig, encode
from entrepot.fleet.simulator import Place, Simulation, SimulationError
from tests.fleet.serving import Serving

CONFIG = DeviceConfig(composite_device_id="PROJ1-ESP5", ssid="MyWiFi", password="", device_key="ab" * 32)


def state_of(board: Board) -> State:
    return board.state


def test_a_new_board_opens_its_portal_and_runs_after_it_was_set_up() -> None:
    board = Board()
    board.power_on()
    assert state_of(board) is State.PORTAL
    board.submit(CONFIG)
    assert (board.state, board.memory) == (State.CONNECTING, encode(CONFIG))
    board.network_found()
    assert (board.state, board.config) == (State.RUNNING, CONFIG)


def test_a_board_finds_its_way_back_after_losing_network_and_power() -> None:
    board = Board(encode(CONFIG))
    board.power_on()
    board.network_found()
    board.network_lost()
    assert state_of(board) is State.CONNECTING
    board.network_found()
    board.power_off()
    assert state_of(board) is State.OFF
    board.power_on()
    assert (board.state, board.config) == (State.CONNECTING, CONFIG)


@pytest.mark.parametrize("at", [1, 20, 100, 180, 183])
def test_power_that_fails_while_writing_leads_to_the_portal_again(at: int) -> None:
    board = Board()
    board.power_on()
    board.submit(CONFIG, power_fails_at=at)
    assert state_of(board) is State.OFF
    board.power_on()
    assert state_of(board) is State.PORTAL
    board.submit(CONFIG)
    assert state_of(board) is State.CONNECTING


def test_a_factory_reset_forgets_everything() -> None:
    board = Board(encode(CONFIG))
    board.power_on()
    board.factory_reset()
    assert (board.state, board.memory) == (State.PORTAL, ERASED)


def test_what_is_not_possible_changes_nothing() -> None:
    board = Board(encode(CONFIG))
    board.network_found()
    board.submit(CONFIG)
    assert state_of(board) is State.OFF
    board.power_on()
    board.power_on()
    board.network_lost()
    board.submit(CONFIG)
    assert state_of(board) is State.CONNECTING


@pytest.mark.anyio
async def test_many_boards_live_at_a_server(fleet: Serving) -> None:
    said: list[str] = []
    place = Place(url=fleet.address, key="alice", speed=600, seconds=3, seed=7)
    simulation = Simulation(place, 25, said.append)
    await simulation.run()
    assert simulation.heartbeats[200] >= 50
    assert set(simulation.heartbeats) == {200}
    projects = fleet.alice.get("/fleet/projects").json()["projects"]
    assert len(projects) == 2
    devices = [
        device
        for one in projects
        for device in fleet.alice.get(f"/fleet/projects/{one['project_id']}/devices").json()["devices"]
    ]
    assert len(devices) == 25
    assert {device["status"] for device in devices} <= {"online", "waiting"}
    assert said[0] == "25 boards registered"


@pytest.mark.anyio
async def test_a_simulation_that_may_not_register_says_so_in_one_line(fleet: Serving) -> None:
    with pytest.raises(SimulationError, match="401"):
        await Simulation(Place(url=fleet.address, key="nobody"), 1, print).run()
    with pytest.raises(SimulationError, match="can't be reached"):
        await Simulation(Place(url="http://127.0.0.1:1", key="alice"), 1, print).run()


def test_the_command_simulates_for_as_long_as_it_is_told(fleet: Serving) -> None:
    options = ["--boards", "3", "--url", fleet.address, "--key", "alice", "--speed", "600", "--seconds", "2"]
    program = [sys.executable, "-m", "entrepot", "simulate", "fleet", *options]
    done = subprocess.run(program, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "3 boards registered"
    assert "heartbeats" in done.stdout.splitlines()[-1]
    refused = subprocess.run(
        [*program[:-6], "--key", "nobody"], capture_output=True, text=True, timeout=120, check=False
    )
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
