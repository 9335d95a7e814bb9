"""A Hub dataset is looked up over the network: a line says so first, and nothing is said where nothing is asked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sftui.sources.opening import OFFLINE, hub_name

CONFIG = "base_model: builtin:chatml\ndatasets:\n  - {path: org/nosuch, type: chat_template}\n"
LINE = "looking up org/nosuch on the Hub"


@pytest.fixture
def online(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for flag in OFFLINE:
        monkeypatch.delenv(flag, raising=False)
    (tmp_path / "c.yml").write_text(CONFIG)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """The Hub answers that there is no such dataset, without a network."""

    def absent(name: str, spec: object) -> None:
        from sftui.errors import SourceError

        raise SourceError("is not on the Hub", where=name)

    monkeypatch.setattr("sftui.sources.hub.open_hub", absent)


@pytest.mark.usefixtures("online", "no_network")
@pytest.mark.parametrize("words", [("org/nosuch", "-t", "builtin:chatml"), ("c.yml",)])
def test_the_line_comes_before_the_refusal(sftui: Callable[..., Any], words: tuple[str, ...]) -> None:
    done = sftui("show", *words)
    assert done.code == 2 and LINE in done.err
    assert done.err.index(LINE) < done.err.index("is not on the Hub")


@pytest.mark.usefixtures("online", "no_network")
@pytest.mark.parametrize("flag", OFFLINE)
def test_offline_nothing_is_said(sftui: Callable[..., Any], flag: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(flag, "1")
    assert "looking up" not in sftui("show", "c.yml").err


@pytest.mark.usefixtures("online")
def test_what_is_here_or_is_no_hub_name_is_not_looked_up() -> None:
    Path("data").mkdir()
    for path in ("data", "c.yml", "-", "*.jsonl", "nosuch.jsonl", "a/b/c", "./x", "~/x"):
        assert hub_name((path,)) is None, path
    assert hub_name(("a", "b")) is None and hub_name(("squad",)) == "squad"
