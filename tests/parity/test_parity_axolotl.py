"""Axolotl's packed batches against sftui's, and configs that sftui wrote, loaded by Axolotl (marker parity).

The other rows of Axolotl are compared in test_parity_trainers.py, as every trainer's are.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import record as recorder
from case import Case, cases_of, environment, python_of, result_path, shared_folder
from compare import judge
from emulate import Emulated, emulate, environment_of, folder_of, short, through

from sftui import pipeline
from sftui.recipe import changed
from sftui.sources import SourceSpec, open_source
from sftui.tokens import load_tokenizer
from sftui.trainers import preset, trainer_named
from sftui.trainers.axolotl.packing import packs_of
from sftui.trainers.config import Facts
from sftui.trainers.own_config import write_config
from sftui.trainers.training import stand_ins
from sftui.trainers.verify.session import read_result

pytestmark = [pytest.mark.parity, pytest.mark.shared]
CASES = [case for case in cases_of("axolotl") if case.config.get("sample_packing")]


@pytest.mark.parametrize("version", ["0.21.0", "0.20.0", "0.19.0", "0.18.0"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_packed_batches_are_equal(version: str, case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    if not shared_folder().is_dir() or not recorder.current("axolotl", version, case):
        pytest.skip(f"there is no reference of {case.name}: run record.py axolotl@{version}")
    head, records = read_result(result_path("axolotl", version, case))
    if head["error"] is not None:
        pytest.skip(f"Axolotl stops: {head['error']['message'][:80]}")
    ours = emulate("axolotl", version, case)
    batches = [one for one in records if one["kind"] == "batch"]
    assert batches
    for number, batch in enumerate(batches):
        compare_batch(number, batch, ours, case)
    with capsys.disabled():
        print(
            f"\n{case.name} (axolotl {version}): {len(batches)} batches of {sum(len(b['bins']) for b in batches)} packs"
            " equal"
        )


def compare_batch(number: int, batch: dict[str, Any], ours: Emulated, case: Case) -> None:
    """One recorded batch: its bins where the sampler is sequential, and the rectangle in any case."""
    assert ours.recipe is not None and ours.tools is not None, ours.refused
    trainer = trainer_named("axolotl")
    rows = [row for row in ours.rows]
    examples = [ours.rows[row][0] for row in rows]
    bins, at = [], 0
    for size in batch["bins"]:
        bins.append([rows.index(row) for row in batch["rows"][at : at + size]])
        at += size
    packs = tuple(packs_of(examples, bins, ours.recipe.batch.attention))
    if case.config.get("curriculum_sampling"):
        made = tuple(trainer.pack(examples, ours.recipe, ours.tools))
        per_batch = len(batch["bins"])
        assert [
            [index for index, _, _ in pack.documents] for pack in made[number * per_batch : (number + 1) * per_batch]
        ] == bins
        packs = made[number * per_batch : (number + 1) * per_batch]
    mine = trainer.collate_packs(packs, ours.recipe, ours.tools)
    for name in ("input_ids", "labels", "attention_mask", "position_ids"):
        got = getattr(mine, name)
        assert (got is not None) == (name in batch), name
        if got is not None:
            assert [list(row) for row in got] == batch[name], f"batch {number}: {name}"


ROUND_TRIPS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "chat": (
        "tricky",
        "qwen2.5",
        {"length.max": 300, "mask.roles": ("user", "assistant"), "own.train_on_eos": "all"},
    ),
    "sharegpt": ("fastchat", "minimind", {"length.max": 600}),
    "cut": (
        "tricky",
        "llama-3-8b-instruct",
        {
            "length.max": 40,
            "length.over": "cut_right",
            "length.min_tokens": 20,
            "tokenizer.pad_token": "<|end_of_text|>",
            "render.template": "axolotl/chatml",
            "tokenizer.eos_token": "<|im_end|>",
            "own.tokens": ("<|im_start|>",),
        },
    ),
    "flags": (
        "turkish.flagged",
        "phi-3-mini",
        {
            "length.max": 2048,
            "data.message_keys": {"train_flag": "training"},
            "own.eot_tokens": ("<|end|>",),
            "own.train_on_eot": "turn",
        },
    ),
    "file": (
        "tricky",
        "minimind",
        {
            "length.max": 2048,
            "render.template": "file:{shared}/testdata/templates/trl_qwen3.jinja",
            "render.kwargs": {"enable_thinking": False},
        },
    ),
    "alpaca": ("alpaca", "phi-3-mini", {"length.max": 200, "mask.rule": "all"}),
    "completion": (
        "wikisql",
        "qwen2.5",
        {"length.max": 64, "own.type": "completion", "own.shuffle_merged_datasets": False},
    ),
    "segments": ("tricky.segments", "qwen2.5", {"length.max": 2048}),
    "own_format": (
        "gsm8k",
        "qwen2.5",
        {
            "length.max": 256,
            "own.type": {
                "field_instruction": "question",
                "field_output": "answer",
                "format": "Q: {instruction}\nA:",
                "no_input_format": "Q: {instruction}\nA:",
            },
        },
    ),
}


@pytest.mark.parametrize("version", ["0.21.0", "0.19.0"])
def test_an_exported_config_gives_what_was_shown(
    version: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The recipe as a fresh config, loaded by the real Axolotl, gives the ids and labels that sftui shows."""
    if not shared_folder().is_dir() or not environment("axolotl", version).exists():
        pytest.skip(f"there is no environment of axolotl@{version}, or no shared test data")
    requests, expected = [], []
    for name, (data, tokenizer, knobs) in ROUND_TRIPS.items():
        case = Case(name, data, tokenizer, limit=120)
        emulated, text = shown(
            case,
            {k: v.replace("{shared}", str(shared_folder())) if isinstance(v, str) else v for k, v in knobs.items()},
            version,
        )
        (tmp_path / f"{name}.yml").write_text(text, encoding="utf-8")
        requests.append(
            {**case.request(tmp_path / f"{name}.jsonl"), "batch": {}, "config_file": str(tmp_path / f"{name}.yml")}
        )
        expected.append((case, emulated))
    total = 0
    for answer, request, (case, ours) in zip(recorder.ask("axolotl", version, requests), requests, expected):
        head, records = read_result(Path(request["output"]))
        assert answer["error"] is None, (case.name, answer)
        found = judge("axolotl", case, head, records, ours)
        assert not found.differences and found.total, (case.name, found.differences[:3])
        total += found.total
    with capsys.disabled():
        print(f"\n{total} rows of {len(expected)} exported configs equal (axolotl {version})")


def shown(case: Case, knobs: dict[str, Any], version: str) -> tuple[Emulated, str]:
    """What sftui shows under a preset with some knobs set, and the config it writes for that."""
    recipe = preset(f"axolotl@{short(version)}")
    for path, value in {**knobs, "tokenizer.name": str(folder_of(case))}.items():
        recipe = changed(recipe, path, value)
    rows = list(open_source(SourceSpec((str(case.data_path()),))).rows())
    detected = pipeline.detect(rows[:200], recipe)
    tokenizer = load_tokenizer(str(folder_of(case)), environment=environment_of("axolotl", version))
    tools = pipeline.make_toolbox(recipe, tokenizer)
    facts = Facts(
        data=str(case.data_path()),
        tokenizer=recipe.tokenizer.name,
        format=detected.format,
        fields=detected.fields,
        message_keys=detected.message_keys,
        given=stand_ins(recipe),
    )
    written = write_config(recipe, None, facts)
    assert not written.losses, written.losses
    return through("axolotl", rows, detected, recipe, tools), written.files[0].content


def test_the_recorded_templates_are_those_of_the_installed_release(tmp_path: Path) -> None:
    script = Path(__file__).with_name("record_axolotl_templates.py")
    python = python_of("axolotl", "0.19.0")
    subprocess.run([python, str(script), str(tmp_path)], check=True, env={**os.environ, "HF_HUB_OFFLINE": "1"})
    kept = script.parents[1] / "golden" / "trainers" / "axolotl_templates.json"
    assert (tmp_path / kept.name).read_bytes() == kept.read_bytes()


@pytest.mark.parametrize(("weight", "seed"), [(0.3, None), (0.5, 7), (0.001, None), (1.0, None)])
def test_weight_takes_the_share_that_is_told(weight: float, seed: int | None, tmp_path: Path) -> None:
    """The rows that the real Axolotl leaves in are so many of a shuffle by the seed, and are as all others are."""
    import numpy

    version = "0.21.0"
    if not shared_folder().is_dir() or not environment("axolotl", version).exists():
        pytest.skip(f"there is no environment of axolotl@{version}, or no shared test data")
    config = {"sequence_len": 2048} | ({} if seed is None else {"seed": seed})
    case = Case("weight", "turkish.system", "qwen2.5", config, limit=120, batch={})
    request = {**case.request(tmp_path / "weight.jsonl"), "dataset": {"weight": weight}}
    (answer,) = recorder.ask("axolotl", version, [request])
    head, records = read_result(tmp_path / "weight.jsonl")
    assert answer["error"] is None, answer
    rows = head["rows_in"]
    many = max(1, int(rows * weight))
    theirs = {one["row"]: one for one in records if one["kind"] == "row"}
    assert len(theirs) == many
    if seed is not None:  # without one they are others in each run
        order = [int(row) for row in numpy.random.default_rng(seed).permutation(rows)]
        assert set(theirs) == set(order[:many])
    ours = emulate("axolotl", version, case)
    for row, made in theirs.items():
        (example,) = ours.rows[row]
        assert [list(example.input_ids), list(example.labels)] == [made["input_ids"], made["labels"]]


GROUP = """
import sys
from importlib.metadata import EntryPoint
sys.path += sys.argv[1].split(":")  # behind its own: what it lacks of sftui's
import axolotl.cli.plugins as plugins
plugins.entry_points = lambda group: [EntryPoint("inspect", "sftui.cli.axolotl:inspect", group)]
plugins.PluginCommandGroup(name="axolotl").main(sys.argv[2:])
"""


@pytest.mark.parametrize("version", ["0.21.0", "0.19.0"])
@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["--help"], 0, "inspect  see which tokens a config trains, before training (sftui)"),
        (["inspect", "--version"], 0, "sftui "),
        (["inspect", "no-such.yml"], 2, "sftui: the inspector needs a terminal"),
    ],
)
def test_axolotl_has_a_command_that_inspects_a_config(version: str, words: list[str], code: int, told: str) -> None:
    python = python_of("axolotl", version)
    if not python.exists():
        pytest.skip(f"Axolotl {version} has no environment: run tests/parity/environments.py axolotl@{version}")
    paths = [str(Path(__file__).parents[2]), *(path for path in sys.path if path.endswith("site-packages"))]
    done = subprocess.run([python, "-c", GROUP, ":".join(paths), *words], capture_output=True, text=True)
    assert done.returncode == code and told in done.stdout + done.stderr, done.stderr[-600:]
