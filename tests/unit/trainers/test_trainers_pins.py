"""What a preset's trainer asks of the libraries, and whose ids a recipe therefore means."""

from __future__ import annotations

import pytest
from trainers import having, module_of

from sftui.recipe import changed
from sftui.trainers import preset, preset_names, traits_of
from sftui.trainers.versions import RUNNING, admits, pins_of, reference_version, running_version

UNPINNED = ("hf-trainer", "manual-shift")


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_of_a_released_trainer_has_its_pins(name: str) -> None:
    pins = pins_of(name)
    if name in UNPINNED:
        assert pins is None
        return
    assert pins is not None
    trainer, _, version = name.partition("@")
    assert pins.package == (traits_of(trainer).package or trainer)
    if name != "torchtune@0.7":  # never released
        assert pins.version.startswith(version)
    assert ("datasets" in pins.newest) is not module_of(trainer, "facts").FACTS.own_json
    for library, newest in pins.newest.items():
        assert pins.admits(library, newest), library


@pytest.mark.parametrize("trainer", having("facts"))
def test_the_reference_is_the_newest_that_the_trainer_admits(trainer: str) -> None:
    facts = module_of(trainer, "facts").FACTS
    assert reference_version(preset(facts.preset)) == (facts.transformers or running_version())


@pytest.mark.parametrize("name", ["hf-trainer", "manual-shift", "torchtune@0.6.1"])
def test_without_a_pin_the_running_version_is_meant(name: str) -> None:
    assert reference_version(preset(name)) == running_version() != ""


def test_a_recipe_may_say_otherwise() -> None:
    recipe = preset("axolotl@0.19")
    assert reference_version(changed(recipe, "tokenizer.transformers", "5.20.1")) == "5.20.1"
    assert reference_version(changed(recipe, "tokenizer.transformers", RUNNING)) == running_version()


def test_what_others_ask_counts_where_the_trainer_asks_nothing() -> None:
    pins = pins_of("llamafactory@0.9")
    assert pins is not None
    assert pins.newest["datasets"] == "4.0.0"
    assert pins.newest["pandas"].startswith("2.")
    assert pins.asks["pandas"] == {"datasets": "", "gradio": "<3.0,>=1.0", "llamafactory": ""}


@pytest.mark.parametrize("name", ["trl@1.15", "trl@1.15.2", "trl@1.14.0"])
def test_a_version_between_has_the_pins_of_the_older(name: str) -> None:
    pins = pins_of(name)
    assert pins is not None and pins.version == "1.14.0"


@pytest.mark.parametrize(
    ("asked", "version", "fits"),
    [
        (">=4.55.0,<=5.6.0", "5.6.0", True),
        (">=4.55.0,<=5.6.0", "5.6.1", False),
        (">=4.55.0,<=5.6.0,!=4.57.0", "4.57.0", False),
        ("==5.16.1", "5.16.1", True),
        ("==5.16.1", "5.16.0", False),
        ("!=4.0.*,!=4.1.0,<5.0.0,>=3.4.1", "4.0.3", False),
        ("!=4.0.*,!=4.1.0,<5.0.0,>=3.4.1", "4.8.5", True),
        ("~=2.1", "2.9", True),
        ("~=2.1", "3.0", False),
        ("", "1.0", True),
        ("<5.11", "5.11.0", False),
        ("== 4.8.*", "4.8.4", True),
    ],
)
def test_a_requirement_takes_a_version_or_not(asked: str, version: str, fits: bool) -> None:
    assert admits(asked, version) is fits
