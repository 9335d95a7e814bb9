"""The options that say where the work is done, without any cluster."""

from __future__ import annotations

from collections.abc import Callable
from importlib import util
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.parametrize("command", ["check", "report", "encode"])
def test_without_ray_it_says_how_to_install_it(
    sftui: Callable[..., Any], data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    found = util.find_spec
    monkeypatch.setattr("sftui.engines.cluster.find_spec", lambda name: None if name == "ray" else found(name))
    out = tmp_path / "out.jsonl"
    done = sftui(command, data, "-t", "builtin:chatml", "--engine", "ray", "-o", out)
    assert done.code == 2 and not out.exists()
    assert done.err == (
        "sftui: Ray is not installed, because --engine ray needs it; install it with pip install 'sftui[ray]'\n"
    )


def test_workers_of_no_engine(sftui: Callable[..., Any], data: Path, tmp_path: Path) -> None:
    done = sftui("encode", data, "-t", "builtin:chatml", "--jobs", 2, "-o", tmp_path / "out.jsonl")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "--jobs sets the workers of a Ray cluster, but the engine is local; add --engine ray" in done.err


def test_an_address_of_no_engine(sftui: Callable[..., Any], data: Path) -> None:
    done = sftui("check", data, "-t", "builtin:chatml", "--address", "auto")
    assert done.code == 2
    assert done.err == ("sftui: --address names a Ray cluster, but the engine is local; add --engine ray\n")
