"""Trainers that other packages bring: what it takes until one is loaded, and that every command has it then."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sftui.cli import main
from sftui.errors import SftuiError
from sftui.findings.catalogue import CODES, fix_text
from sftui.recipe import changed
from sftui.session.options import OpenOptions
from sftui.session.ready import open_data, tokenized
from sftui.session.sent import sent
from sftui.trainers import (
    dump_recipe,
    hand_written,
    load_recipe,
    outside,
    preset,
    preset_names,
    release_of,
    trainer_named,
    trainer_names,
    traits_of,
)
from sftui.trainers.verify.session import ask, verified
from sftui.trainers.versions import pins_of, reference_version, running_version

HERE = Path(__file__).parent
ANSWERED = {"messages": [{"role": "user", "content": "Hello?"}, {"role": "assistant", "content": "Hi."}]}
ASKED = {"messages": [*ANSWERED["messages"], {"role": "user", "content": "And?"}]}


def install(site: Path, package: str, points: str, **modules: str) -> None:
    """What pip leaves of a package in a folder for packages: modules, and the metadata beside them."""
    for name, text in modules.items():
        (site / f"{name}.py").write_text(text)
    folder = site / f"{package.replace('-', '_')}-1.3.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.3\n")
    (folder / "entry_points.txt").write_text(f"[sftui.trainers]\n{points}\n" if points else "")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for packages, with acme-sftui in it; nothing is enabled, here or in the settings."""
    site = tmp_path / "site-packages"
    shutil.copytree(HERE / "acme_sftui", site / "acme_sftui")
    install(site, "acme-sftui", "acme = acme_sftui:TRAITS")
    monkeypatch.syspath_prepend(site)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv(outside.VARIABLE, "")
    outside.outside_trainers.cache_clear()
    yield site
    for name in [name for name in sys.modules if name.partition(".")[0].endswith("_sftui")]:
        del sys.modules[name]
    outside.outside_trainers.cache_clear()


def sftui(site: Path, *words: object) -> subprocess.CompletedProcess[str]:
    """A command as a user starts it, with the packages of `site` beside sftui."""
    return subprocess.run(
        [sys.executable, "-m", "sftui", *map(str, words)],
        env={**os.environ, "PYTHONPATH": str(site)},
        cwd=site.parent,
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_a_package_that_is_only_installed_runs_no_code(site: Path) -> None:
    (site / "acme_sftui" / "__init__.py").write_text("raise SystemError('it ran')")
    assert "acme" not in trainer_names()
    with pytest.raises(SftuiError) as error:
        trainer_named("acme@2.1")
    assert str(error.value) == (
        "no trainer `acme@2.1`; the package acme-sftui provides it; --trainers-from acme-sftui runs its code"
    )
    assert "acme_sftui" not in sys.modules


def test_an_enabled_package_is_a_trainer_as_any_other(site: Path) -> None:
    outside.enable(["acme-sftui"])
    assert preset_names()[-2:] == ("acme@2.1", "acme@2.0")
    assert traits_of("acme@2.0").title == "Acme"
    assert preset("acme").preset == "acme@2.1"
    assert trainer_named("acme").title == "Acme"
    assert release_of("acme") == "acme-sftui 1.3"
    assert pins_of("acme@2.1") is None and reference_version(preset("acme")) == running_version()
    assert os.environ[outside.VARIABLE] == "acme-sftui"
    kept = changed(preset("acme@2.0"), "own.keep_asked", True)
    assert load_recipe(dump_recipe(kept), "recipe.yaml") == kept
    with pytest.raises(SftuiError, match=r"sftui has no rules for Acme 1\.9; use acme@2\.1 or acme@2\.0"):
        preset("acme@1.9")


def test_the_settings_enable_a_package(site: Path, tmp_path: Path) -> None:
    file = tmp_path / "config" / "sftui" / "settings.yaml"
    file.parent.mkdir(parents=True)
    file.write_text("trainers_from: [acme-sftui, gone]\n")
    with pytest.raises(SftuiError, match=rf"gone cannot be used.*leave it out of trainers_from in {file}"):
        trainer_names()
    file.write_text("trainers_from: [acme-sftui]\n")
    assert trainer_names()[-1] == "acme"


@pytest.mark.parametrize(
    ("points", "module", "why"),
    [
        ("", "", "it has no entry point in the group sftui.trainers"),
        ("bent = bent_sftui:TRAITS", "raise KeyError('x')", "bent_sftui:TRAITS cannot be loaded: KeyError: 'x'"),
        ("bent = bent_sftui:TRAITS", "", "bent_sftui:TRAITS cannot be loaded: AttributeError: "),
        ("bent = bent_sftui:TRAITS", "TRAITS = 'bent'", "bent_sftui:TRAITS is not an sftui.trainers.traits.Traits"),
        ("bent = bent_sftui:TRAITS", "{named}('best', 'B', 'x:y')", "its entry point `bent` declares the name `best`"),
        (
            "trl = bent_sftui:TRAITS",
            "{named}('trl', 'T', 'x:y')",
            "it provides a trainer `trl`, and so does sftui itself",
        ),
        ("acme = bent_sftui:TRAITS", "{named}('acme', 'A', 'x:y')", "it provides a trainer `acme`, and so does acme-"),
    ],
)
def test_a_package_that_is_wrong_says_why(site: Path, points: str, module: str, why: str) -> None:
    made = "from sftui.trainers import Traits\nTRAITS = (lambda a, b, c: Traits(name=a, title=b, home=c))"
    install(site, "bent-sftui", points, bent_sftui=module.replace("{named}", made))
    with pytest.raises(SftuiError) as error:
        outside.enable(["acme-sftui", "bent-sftui"])
    assert error.value.what == "the trainers of the package bent-sftui cannot be used"
    assert error.value.why.startswith(why)
    assert error.value.fix == "fix the package, or leave it out of --trainers-from"


@pytest.mark.parametrize("home", ["bent_sftui:Gone", "gone_sftui:Bent", "bent_sftui:TRAITS", "bent_sftui:Plain"])
def test_a_class_that_is_none_is_told_when_it_is_asked_for(site: Path, home: str) -> None:
    module = (
        f"from sftui.trainers import Trainer, Traits\nTRAITS = Traits(name='bent', title='Bent', home='{home}')\n"
        "class Plain(Trainer): pass\n"
    )
    install(site, "bent-sftui", "bent = bent_sftui:TRAITS", bent_sftui=module)
    outside.enable(["bent-sftui"])
    with pytest.raises(SftuiError, match=rf"the trainers of the package bent-sftui cannot be used, because {home} "):
        trainer_named("bent")


def test_commands_and_their_processes_have_it(site: Path, tmp_path: Path) -> None:
    data = tmp_path / "rows.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in (ANSWERED, ASKED)))
    (tmp_path / "run.yaml").write_text(f"acme_data: {data}\nacme_tokenizer: builtin:chatml\n")
    made = sftui(site, "encode", "run.yaml", "-o", "-", "--trainers-from", "acme-sftui")
    assert (made.returncode, "run.yaml is read as a config for acme, because" in made.stderr) == (0, True)
    answered, asked = (json.loads(line) for line in made.stdout.splitlines())
    assert sum(label != -100 for label in answered["labels"]) == 5
    assert asked == {"row": 1, "dropped": "a person has the last word: Acme drops the row"}
    words = ("check", data, "-t", "builtin:chatml", "--trainer", "acme@2.0", "--trainers-from", "acme-sftui")
    told: dict[str, Any] = json.loads(sftui(site, *words, "--jobs", "2", "--format", "json").stdout)
    assert (told["preset"], told["rows"]) == ("acme@2.0", 2)
    assert "TRU006" in {one["code"] for one in told["codes"]}


def test_a_session_on_its_way_takes_them_along(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outside.enable(["acme-sftui"])
    (tmp_path / "rows.jsonl").write_text('{"messages": [{"role": "user", "content": "a"}]}\n')
    recipe = changed(preset("acme"), "tokenizer.name", "builtin:chatml")
    options = OpenOptions((str(tmp_path / "rows.jsonl"),), recipe=recipe)
    there = sent(tokenized(open_data(options)).ready())
    monkeypatch.setenv(outside.VARIABLE, "")
    outside.outside_trainers.cache_clear()
    assert "acme" not in trainer_names()
    assert there.open().recipe.preset == "acme@2.1"


def test_its_weights_reach_every_place_that_rows_reach(
    site: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = [{"role": "assistant", "content": "Hi.", "weight": weight} for weight in (0.3, 0, 2)]
    data = tmp_path / "rows.jsonl"
    data.write_text("".join(json.dumps({"messages": [*ANSWERED["messages"][:1], one]}) + "\n" for one in answers))
    given = (data, "-t", "builtin:chatml", "--trainer", "acme", "--trainers-from", "acme-sftui")
    weighed = (*given, "--set", "loss.weights=float")

    def printed(*words: object) -> str:
        with pytest.raises(SystemExit):
            main([*map(str, words)])
        return capsys.readouterr().out

    rows = [json.loads(line) for line in printed("encode", *weighed, "-o", "-").splitlines()]
    on = [label != -100 for label in rows[0]["labels"]]
    assert [row["loss_weights"] for row in rows] == [[weight * one for one in on] for weight in (0.3, 0.0, 2.0)]
    plain = [json.loads(line) for line in printed("encode", *given, "-o", "-").splitlines()]
    assert plain == [{name: row[name] for name in row if name != "loss_weights"} for row in rows]

    packing = printed("encode", *weighed, "--set", "pack.strategy=sequential", "-o", "-")
    packs = [json.loads(line) for line in packing.splitlines()]
    together = rows[0]["loss_weights"] + rows[1]["loss_weights"]
    assert [pack["loss_weights"] for pack in packs] == [together, rows[2]["loss_weights"]]

    told = json.loads(printed("compare", *weighed, "--with", "loss.weights=none", "--format", "json"))
    trained = sum(on)
    assert (told["labels_differing"], told["weights_differing"]) == (trained, 2 * trained), "by 0; by 0.3 and 2"
    shown = printed("show", *weighed, "--view", "text")
    assert f"{trained} with a weight other than 1" in shown and "⟦Hi.<|im_end|>⏎⟧×0.3" in shown

    told = json.loads(sftui(site, "check", *weighed, "--jobs", "2", "--format", "json").stdout)
    assert told["figures"]["weights"]["by_weight"] == {"0.3": trained, "2": trained}
    codes = {one["code"] for one in told["codes"]}
    assert {"LAB001", "LAB019"} <= codes and not {"LAB010", "LAB016"} & codes


def test_what_rules_say_to_other_trainers_is_not_said_to_it(site: Path) -> None:
    outside.enable(["acme-sftui"])
    assert CODES["GEN001"].fixes["hf-trainer"] and fix_text("GEN001", "acme") == ""
    assert fix_text("ROW006", "acme") == CODES["ROW006"].data
    assert fix_text("LAB002", "acme") == "acme_train: answers"


def test_its_runner_stands_beside_its_code(site: Path, tmp_path: Path) -> None:
    (site / "acme_sftui" / "run_acme.py").write_text(
        "import json, sys, exchange\n"
        "for line in sys.stdin:\n"
        "    print(json.dumps({'error': None, 'by': exchange.ROW, 'asked': json.loads(line)}), flush=True)\n"
    )
    assert "acme" not in verified()
    outside.enable(["acme-sftui"])
    assert verified()[-1] == "acme"
    with (tmp_path / "log").open("w") as log:
        [answer] = ask(Path(sys.executable), "acme", [{"rows": []}], log)
    assert answer == {"error": None, "by": "sftui_row", "asked": {"rows": []}}


def test_no_script_of_ours_stands_for_its_loop(site: Path) -> None:
    module = "from sftui.trainers import Traits\nTRAITS = Traits(name='bent', title='B', home='x:Y', by_hand=True)"
    install(site, "bent-sftui", "bent = bent_sftui:TRAITS", bent_sftui=module)
    outside.enable(["bent-sftui"])
    assert traits_of("bent").by_hand and hand_written() == ("hf-trainer", "manual-shift")
