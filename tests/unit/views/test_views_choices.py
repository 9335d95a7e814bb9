"""Every choice of every knob says what it does, and nothing is said of choices that are none."""

from __future__ import annotations

import pytest

from sftui.recipe import KnobInfo, knobs
from sftui.views.choices import MEANINGS, meaning

CHOSEN = {info.path: info for info in knobs() if info.choices}


@pytest.mark.parametrize("info", CHOSEN.values(), ids=list(CHOSEN))
def test_every_choice_is_explained_by_itself(info: KnobInfo) -> None:
    told = [meaning(info.path, choice) for choice in info.choices]
    assert all(told) and len(set(told)) == len(told)
    assert set(MEANINGS[info.path]) == set(info.choices)


def test_only_knobs_with_choices_are_explained() -> None:
    assert set(MEANINGS) == set(CHOSEN)
    assert meaning("preset", "trl@1.16") == "" and meaning("batch.flatten", True) == ""
