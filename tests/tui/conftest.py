"""What every test of the inspector opens: the rows in `train.jsonl` of the folder that it works in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from rows_worker import ONCE, chats, write_chats


@pytest.fixture(scope="session")
def data_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    write_chats(folder / "train.jsonl", chats())
    return folder


@pytest.fixture(autouse=True)
def data_here(data_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Who writes does so elsewhere."""
    monkeypatch.chdir(data_folder)
    before = {*data_folder.iterdir()}
    yield
    assert {*data_folder.iterdir()} == before


@pytest.fixture
def own_data(data_here: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the same rows, to write in."""
    write_chats(tmp_path / "train.jsonl", chats())
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(autouse=True)
def made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of the same open data are inspected and checked once, however many tests look at them."""
    for place, name, make in ONCE:
        monkeypatch.setattr(place, name, make)


@pytest.fixture
def clipboard(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is copied, instead of to the terminal's clipboard."""
    taken: list[str] = []

    def copy(text: str, write: object, environment: object) -> str:
        taken.append(text)
        return "sent it"

    for module in ("copying", "sessions"):
        monkeypatch.setattr(f"sftui.tui.commands.{module}.copy_out", copy)
    return taken
