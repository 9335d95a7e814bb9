"""What two runs make at once in one place: CI's runs begin together on a machine that has nothing yet."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from places import made_once


def _file(path: Path) -> None:
    path.write_text("whole")


def _folder(path: Path) -> None:
    path.mkdir()
    (path / "inside").write_text("whole")


@pytest.mark.parametrize("make", [_file, _folder])
def test_two_runs_may_make_the_same_place_at_once(make: Callable[[Path], None], tmp_path: Path) -> None:
    both = threading.Barrier(2, timeout=30)

    def at_once(path: Path) -> None:
        make(path)
        both.wait()  # neither was there when the other began

    place = tmp_path / "data" / "rows"
    with ThreadPoolExecutor(2) as runs:
        assert list(runs.map(lambda _: made_once(place, at_once), range(2))) == [place, place]
    made = place if place.is_file() else place / "inside"
    assert made.read_text() == "whole"
    assert [one.name for one in place.parent.iterdir()] == ["rows"]
