"""An export to another trainer does there what the source does, or says what it does not: both real loaders read their
file (marker parity). A config that sets everything and one that sets nothing, of each trainer to each other one; the
example configs of their repositories: export_pairs.py, on request.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pytest
from ask_configs import TRAINERS, Answer, ask, python_of
from export_pairs import Exported, Pair, counted, exported
from record_examples import missing, started_in

sys.path.append(str(Path(__file__).parents[1] / "unit" / "exports"))
from test_exports_training import BARE, FULL

THERE = [name for name in TRAINERS if python_of(name).exists()]
if missing():  # torchtune 0.7 is taken out of the mirror
    THERE = [name for name in THERE if name != "torchtune"]
pytestmark = [pytest.mark.parity, pytest.mark.shared, pytest.mark.skipif(len(THERE) < 2, reason="environments.py")]


@pytest.fixture(scope="module")
def known() -> tuple[dict[str, dict[str, Answer]], list[tuple[str, Exported]]]:
    """What each source's loader makes of its configs, and their exports."""
    answers: dict[str, dict[str, Answer]] = {}
    made: list[tuple[str, Exported]] = []
    for source in THERE:
        texts = {"full.yaml": FULL[source], "bare.yaml": BARE[source]}
        answers[source] = {path: one for path, one in ask(source, texts.items()).items() if one.settings}
        with tempfile.TemporaryDirectory() as folder, started_in(folder):
            for path in answers[source]:
                made += [(source, exported(source, path, texts[path], to)) for to in THERE if to != source]
    return answers, made


@pytest.mark.parametrize("target", THERE)
def test_each_setting_is_in_effect_or_listed(
    known: tuple[dict[str, dict[str, Answer]], list[tuple[str, Exported]]], target: str
) -> None:
    answers, made = known
    pairs: dict[str, Pair] = {}
    for source, _, pair in counted(target, [one for one in made if one[1].target == target], answers):
        pairs[source] = pair
        print(pair.line(source, target))
    assert not {source: dict(pair.differing) for source, pair in pairs.items() if pair.differing}
    assert not {source: (dict(pair.stops), pair.taken) for source, pair in pairs.items() if pair.stops or pair.taken}
    assert sum(pair.carried for pair in pairs.values()) > 10 * len(pairs)
