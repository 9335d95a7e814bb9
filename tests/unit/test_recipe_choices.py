"""Every choice of every knob says what it does, those of each trainer's own options too."""

from __future__ import annotations

import pytest

from sftui.recipe import KnobInfo, knobs_of
from sftui.trainers import preset, preset_names

CHOSEN = {info.path: info for name in preset_names() for info in knobs_of(preset(name)) if info.choices}


@pytest.mark.parametrize("info", CHOSEN.values(), ids=list(CHOSEN))
def test_every_choice_is_explained_by_itself(info: KnobInfo) -> None:
    told = [info.meaning(choice) for choice in info.choices]
    assert all(told) and len(set(told)) == len(told) and len(info.meanings) == len(info.choices)


def test_what_is_no_choice_has_no_meaning() -> None:
    info = CHOSEN["mask.rule"]
    assert info.meaning("parts") and [info.meaning(one) for one in ("part", None, True, 3)] == [""] * 4
