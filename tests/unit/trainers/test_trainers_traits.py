"""What a trainer declares: read without its code, and what its class goes by."""

import subprocess
import sys
from dataclasses import fields
from inspect import isfunction

import pytest

from sftui.trainers import TRAINERS, Trainer, Traits, trainer_named, traits_of
from sftui.trainers.traits import Effect, Quirk
from sftui.trainers.verify.session import verified


@pytest.mark.parametrize("name", TRAINERS)
def test_a_trainer_goes_by_what_its_package_declares(name: str) -> None:
    trainer = trainer_named(name)
    assert trainer.traits is traits_of(name)
    assert (trainer.name, trainer.title, trainer.versions) == (name, trainer.traits.title, trainer.traits.versions)
    assert f"{type(trainer).__module__}:{type(trainer).__qualname__}" == trainer.traits.home


def test_presets_are_listed_without_the_code_of_any_trainer() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import sys, sftui.trainers as t; print(t.preset_names()); print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    names, loaded = done.stdout.splitlines()
    assert "trl@1.16" in names and "manual-shift" in names
    assert not [name for name in loaded.split() if name.endswith((".trainer", ".base"))]


def test_every_trainer_that_no_hand_writes_can_be_run_beside() -> None:
    assert verified() == tuple(name for name in TRAINERS if not traits_of(name).by_hand)


def test_what_a_trainer_may_say_of_itself_stays_little() -> None:
    methods = [name for name, one in vars(Trainer).items() if isfunction(one) and not name.startswith("_")]
    said = [field for field in fields(Traits) if field.init]  # the others follow from what is said
    assert len(methods) + len(said) <= 70


def test_every_quirk_and_effect_is_some_trainers() -> None:
    declared = [traits_of(name) for name in TRAINERS]
    assert {quirk for one in declared for quirk in one.quirks} == set(Quirk)
    assert {effect for one in declared for effect in one.options} == set(Effect)
