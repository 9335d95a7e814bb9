"""Every trainer on tokenizers and datasets of our own making: rows, packs and batches (marker parity).

References are recorded on first use and kept, as in test_parity_trainers.py.
"""

from __future__ import annotations

import environments
import new_material
import new_material_five
import new_material_four
import new_material_three
import new_material_two
import pytest
import record as recorder
import rounds
import shared_cases
from case import environment
from compare import Totals, compare

from sftui.tokens.shortcuts.bulk import CHUNK_ROWS
from sftui.trainers import traits_of
from sftui.trainers.axolotl import instruct
from sftui.trainers.llamafactory.registry import TEMPLATES

pytestmark = pytest.mark.parity


@pytest.mark.parametrize("trainer", rounds.trainers_of("new"))
def test_new_material_is_equal(trainer: str, capsys: pytest.CaptureFixture[str]) -> None:
    trainer, version = environments.split(trainer)
    if not environment(trainer, version).exists():
        pytest.skip(f"{trainer} {version} has no environment: run tests/parity/environments.py {trainer}")
    cases = rounds.cases(trainer, "new")
    assert recorder.record(trainer, version, cases) == 0, "a runner ended without an answer"
    totals = Totals()
    wrong: list[str] = []
    for case in cases:
        found = compare(trainer, version, case)
        wrong += [f"{case.name}: {difference}" for difference in found.differences]
        totals.add(case, found)
    with capsys.disabled():
        print(f"\n{trainer} {version}: {totals}")
    assert not wrong, f"{len(wrong)} differences:\n" + "\n".join(wrong[:20])
    assert totals.batches >= 100 and (totals.packs >= 500 or traits_of(trainer).packing.usual == "none")


def test_the_cases_meet_every_tokenizer_and_dataset() -> None:
    cases = [case for trainer in ("trl", "axolotl", "llamafactory", "unsloth") for case in rounds.cases(trainer, "new")]
    assert {case.tokenizer.removeprefix("new:") for case in cases} == set(new_material.TOKENIZERS)
    assert {case.data.removeprefix("new:") for case in cases} == set(new_material.DATASETS)
    assert len(new_material.TOKENIZERS) >= 12 and len(new_material.DATASETS) >= 10


def test_the_second_round_meets_every_tokenizer_and_dataset() -> None:
    cases = [case for trainer in rounds.trainers_of("two") for case in rounds.cases(trainer, "two")]
    assert {case.tokenizer.removeprefix("two:") for case in cases} == set(new_material_two.TOKENIZERS)
    assert {case.data.removeprefix("two:") for case in cases} == set(new_material_two.DATASETS)


@pytest.mark.parametrize("trainer", shared_cases.TRAINERS)
def test_every_shared_dataset_meets_three_tokenizers(trainer: str) -> None:
    met = {(case.data.removeprefix("shared:"), case.tokenizer) for case in shared_cases.cases(trainer)}
    names = (*shared_cases.TEXTS, *shared_cases.CHATS)
    assert met == {(name, tokenizer) for name in names for tokenizer in shared_cases.TOKENIZERS} and len(names) == 24


@pytest.mark.shared
def test_the_third_round_meets_every_dataset_with_rows_enough_for_the_faster_engine() -> None:
    cases = [case for trainer in rounds.trainers_of("three") for case in rounds.cases(trainer, "three")]
    assert {case.data.removeprefix("three:") for case in cases} == set(new_material_three.DATASETS)
    assert all(len(new_material_three.rows(name)) > CHUNK_ROWS for name in new_material_three.DATASETS)


def test_the_fourth_round_meets_every_tokenizer_and_dataset_of_each_trainer() -> None:
    cases = [case for trainer in rounds.trainers_of("four") for case in rounds.cases(trainer, "four")]
    assert {case.data.removeprefix("four:") for case in cases} == set(new_material_four.DATASETS)
    for trainer in rounds.trainers_of("four"):
        met = {case.tokenizer.removeprefix("four:") for case in rounds.cases(trainer, "four")}
        assert met.issuperset(new_material_four.TOKENIZERS), trainer


def test_the_fifth_round_meets_every_dataset_and_every_name() -> None:
    cases = {trainer: rounds.cases(trainer, "five") for trainer in rounds.trainers_of("five")}
    assert {case.data.removeprefix("five:") for made in cases.values() for case in made} == set(
        new_material_five.DATASETS
    )
    kinds = {str(case.dataset.get("type")) for case in cases["axolotl"]}
    assert kinds.issuperset({*instruct._LOADED, *instruct._STYLED})
    named = {str(case.config.get("template")) for case in cases["llamafactory"]}
    assert named.issuperset(name for name, one in TEMPLATES.items() if not one.media)
