"""`sftui capture` on real trainers (marker parity): what the model receives is what sftui predicts, before any step.

Each run is a user's own command on a tiny model with random weights, on CPU, where its trainer is installed. Stand-ins
are torchaudio for LLaMA-Factory, and `unsloth_zoo` on TRL's trainer for Unsloth (see `capture_runs/`).
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from case import python_of, shared_folder

import sftui
from sftui.cli import main
from sftui.tokens import builtin

pytestmark = pytest.mark.parity
RUNS = Path(__file__).parent / "capture_runs"
WORDS = ["quick", "brown", "fox", "jumps", "over", "lazy", "dog", "sleeps", "under", "warm", "sun", "while"]


@dataclass(frozen=True)
class Run:
    """A run: its environment, its command behind `bin/`, and how sftui prepares the same rows."""

    trainer: str
    version: str
    command: Sequence[str]
    against: Sequence[str]
    path: Sequence[str] = ()
    capture: Sequence[str] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)


AXOLOTL = {
    "datasets": [{"path": "rows.jsonl", "type": "chat_template", "ds_type": "json"}],
    "chat_template": "tokenizer_default",
    "sequence_len": 256,
    "micro_batch_size": 1,
    "gradient_accumulation_steps": 2,
    "num_epochs": 1,
    "learning_rate": 0.0001,
    "optimizer": "adamw_torch",
    "val_set_size": 0,
    **{"bf16": False, "fp16": False, "tf32": False, "use_cpu": True, "flash_attention": False},
    **{"base_model": "model", "dataset_prepared_path": "prepared", "output_dir": "out"},
}
LLAMAFACTORY = {
    "model_name_or_path": "model",
    **{"stage": "sft", "do_train": True, "finetuning_type": "full", "dataset": "rows", "dataset_dir": "."},
    **{"template": "qwen", "cutoff_len": 128, "overwrite_cache": True, "output_dir": "out", "report_to": "none"},
    **{"per_device_train_batch_size": 2, "use_cpu": True, "bf16": False, "fp16": False},
}
SCRIPTS = {"trl": "train_trl.py", "plain": "train_plain.py", "loop": "train_loop.py", "unsloth": "train_unsloth.py"}
SCRIPTS |= {"callback": "train_callback.py", "odd": "train_odd.py"}


def script(name: str, *words: str) -> tuple[str, ...]:
    return ("python", str(RUNS / SCRIPTS[name]), "model", "rows.jsonl", "out", *words)


CASES = {
    "trl": Run("trl", "1.16.0", script("trl", "{}"), ("rows.jsonl", "--max-length", "1024")),
    "trl-cut": Run(
        *("trl", "1.16.0"),
        script("trl", '{"max_length": 64, "gradient_accumulation_steps": 4, "per_device_train_batch_size": 2}'),
        ("rows.jsonl", "--max-length", "64"),
    ),
    "trl-packed": Run(
        *("trl", "1.16.0"),
        script("trl", '{"packing": true, "max_length": 200, "per_device_train_batch_size": 2}'),
        ("rows.jsonl", "--max-length", "200", "--set", "pack.strategy=bfd"),
    ),
    "trl-no-model": Run(
        "trl", "1.16.0", script("trl", "{}"), ("rows.jsonl", "--max-length", "1024"), capture=("--no-model",)
    ),
    "plain": Run("trl", "1.16.0", script("plain", "prompt"), ("rows.jsonl",)),
    "loop": Run("trl", "1.16.0", script("loop"), ("rows.jsonl", "--trainer", "hf-trainer")),
    "odd": Run("trl", "1.16.0", script("odd"), ("rows.jsonl", "--trainer", "hf-trainer")),
    "compiled": Run(
        *("trl", "1.16.0"),
        script("loop"),
        ("rows.jsonl", "--trainer", "hf-trainer"),
        variables={"CAPTURE_COMPILE": "1"},
    ),
    "torchrun": Run(
        *("trl", "1.16.0"),
        ("torchrun", "--nproc-per-node", "2", *script("loop")[1:]),
        ("rows.jsonl", "--trainer", "hf-trainer"),
    ),
    "axolotl": Run("axolotl", "0.21.0", ("axolotl", "train", "config.yml"), ("config.yml",), config=AXOLOTL),
    "axolotl-packed": Run(
        *("axolotl", "0.21.0", ("axolotl", "train", "config.yml"), ("config.yml",)),
        config={**AXOLOTL, "sample_packing": True, "pad_to_sequence_len": True},
    ),
    "llamafactory": Run(
        *("llamafactory", "0.9.5", ("llamafactory-cli", "train", "config.yml"), ("config.yml",)),
        path=(str(RUNS / "stand_ins"),),
        config=LLAMAFACTORY,
    ),
    "llamafactory-no-model": Run(
        *("llamafactory", "0.9.5", ("llamafactory-cli", "train", "config.yml"), ("config.yml",)),
        path=(str(RUNS / "stand_ins"),),
        capture=("--no-model",),
        config=LLAMAFACTORY,
    ),
    "llamafactory-neat": Run(
        *("llamafactory", "0.9.5", ("llamafactory-cli", "train", "config.yml"), ("config.yml",)),
        path=(str(RUNS / "stand_ins"),),
        config={**LLAMAFACTORY, "neat_packing": True},
    ),
    "unsloth": Run(
        *("unsloth", "2026.10.9"),
        script("unsloth"),
        ("rows.jsonl", "--set", "mask.rule=markers", "--max-length", "1024"),
        capture=("--no-model",),
    ),
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with forty rows of one to three turns, no two alike."""
    monkeypatch.chdir(tmp_path)
    draw = random.Random(15)

    def text(most: int) -> str:
        return " ".join(draw.choices(WORDS, k=draw.randint(3, most)))

    rows = [
        [
            {"role": role, "content": f"{number}.{turn} {text(most)}"}
            for turn in range(draw.randint(1, 3))
            for role, most in (("user", 20), ("assistant", 40))
        ]
        for number in range(40)
    ]
    Path("rows.jsonl").write_text("".join(json.dumps({"messages": row}) + "\n" for row in rows))
    tags = {"role_tag": "role", "content_tag": "content", "user_tag": "user", "assistant_tag": "assistant"}
    entry = {"file_name": "rows.jsonl", "formatting": "sharegpt", "columns": {"messages": "messages"}, "tags": tags}
    Path("dataset_info.json").write_text(json.dumps({"rows": entry}))
    return tmp_path


def environment(run: Run, here: Path) -> tuple[Path, dict[str, str]]:
    """The folder of the run's programs, and its variables: offline, on CPU, and with an optimizer that tells."""
    python = python_of(run.trainer, run.version)
    if not python.exists():
        pytest.skip(f"there is no environment {run.trainer}-{run.version}")
    folder = python.parent
    subprocess.run(
        [python, RUNS / "common.py", shared_folder() / "testdata" / "tokenizers" / "qwen2.5", "model"], check=True
    )
    (here / "config.yml").write_text(json.dumps(run.config))
    return folder, {
        **os.environ,
        "PATH": os.pathsep.join((str(folder), os.environ["PATH"])),
        "PYTHONPATH": os.pathsep.join((*run.path, str(RUNS / "marked"), str(RUNS))),
        "PYTHONDONTWRITEBYTECODE": "1",
        "CAPTURE_MARKER": str(here / "marker"),
        "HF_HUB_OFFLINE": "1",
        "CUDA_VISIBLE_DEVICES": "",
        "AXOLOTL_DO_NOT_TRACK": "1",
        "DISABLE_VERSION_CHECK": "1",
        "HF_HOME": str(here / "cache"),
        "WANDB_API_KEY": "wandbsecret",
        "OMP_NUM_THREADS": "1",
        **run.variables,
    }


def listing(folder: Path) -> str:
    """A hash over every file of an environment: its name, size and when it was written. But for what Python compiles,
    which other runs in the same environment may write meanwhile."""
    found = hashlib.sha256()
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(names):
            path = os.path.join(where, name)
            stat = os.lstat(path)
            found.update(f"{path} {stat.st_size} {stat.st_mtime_ns}\n".encode())
    return found.hexdigest()


def captured(run: Run, here: Path) -> str:
    """Capture a run; what it said. No step was made and no handler ran, and the environment is as it was."""
    folder, variables = environment(run, here)
    before = listing(folder.parent)
    words = ["capture", "-o", "batches.parquet", *run.capture, "--", *run.command]
    done = subprocess.run(
        [sys.executable, "-m", "sftui", *words],
        env={**variables, "PYTHONPATH": variables["PYTHONPATH"]},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-6000:]
    assert not (here / "marker").exists(), (here / "marker").read_text()
    assert listing(folder.parent) == before
    assert b"wandbsecret" not in Path("batches.parquet").read_bytes()
    print(*[line for line in done.stderr.splitlines() if line.startswith("sftui: ")], sep="\n")
    return done.stderr


def compared(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["compare", "batches.parquet", "--format", "json", "--against", *words])
    out = capsys.readouterr()
    assert out.out, out.err
    found: dict[str, Any] = json.loads(out.out)
    print(json.dumps({name: found[name] for name in ("preset", "sequences", "equal")}))
    return found


@pytest.mark.parametrize("name", CASES)
def test_what_the_model_receives_is_what_sftui_says(here: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    run = CASES[name]
    captured(run, here)
    found = compared(capsys, *run.against)
    assert found["differing"] == []
    assert found["equal"] == found["sequences"] >= 8


def test_what_a_position_of_a_neat_pack_sees_is_what_the_trainer_lets_it_see(here: Path) -> None:
    """The mask of two more axes that the model got, as numbers of documents, beside those of the packs."""
    captured(CASES["llamafactory-neat"], here)
    got = {
        (tuple(row["input_ids"]), tuple(row["attention_mask"])) for row in pq.read_table("batches.parquet").to_pylist()
    }
    made = {
        (ids, numbers)
        for batch in sftui.open("config.yml").batches(2)
        for ids, numbers in zip(batch.input_ids, batch.documents or ())
    }
    assert len(got) >= 8 and got <= made
    assert any(max(numbers) > 1 and 0 in numbers for _, numbers in got)


def test_another_length_and_another_rule_are_found_out(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    captured(CASES["trl-cut"], here)
    found = compared(capsys, "rows.jsonl", "--max-length", "1024")
    assert {json.dumps(one["why"]) for one in found["differing"]} == {
        json.dumps([{"knob": "length.max", "from": 1024, "to": 64}])
    }
    captured_again = compared(capsys, "rows.jsonl", "--trainer", "hf-trainer", "--max-length", "64")
    assert {json.dumps([change["knob"] for change in one["why"]]) for one in captured_again["differing"]} == {
        json.dumps(["mask.rule"])
    }


def test_a_collator_that_no_setting_says_is_told_as_such(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    captured(Run("trl", "1.16.0", script("plain", "odd"), ()), here)
    found = compared(capsys, "rows.jsonl")
    assert found["equal"] == 0
    assert {(one["what"], len(one["why"])) for one in found["differing"]} == {("labels", 0)}


@pytest.mark.parametrize("name", ["callback", "plugin"])
def test_a_training_that_goes_on_gives_the_same(here: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    """sftui is imported there from this repository, with what it needs of packages that the trainer does not bring."""
    import platformdirs

    needs = here / "needs"
    needs.mkdir()
    (needs / "platformdirs").symlink_to(Path(platformdirs.__file__).parent)
    more = {"plugins": ["sftui.axolotl.CapturePlugin"], "sftui_capture": "batches.parquet", "sftui_capture_batches": 3}
    own = Run("axolotl", "0.21.0", ("axolotl", "train", "config.yml"), (), config={**AXOLOTL, "max_steps": 3, **more})
    run = own if name == "plugin" else Run("trl", "1.16.0", script("callback"), ())
    _, variables = environment(run, here)
    variables["PYTHONPATH"] = os.pathsep.join((variables["PYTHONPATH"], str(Path(__file__).parents[2]), str(needs)))
    done = subprocess.run([*run.command], env=variables, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-6000:]
    assert (here / "marker").read_text() == "step\n" * 3
    assert Path("batches.parquet").stat().st_mode & 0o777 == 0o600
    found = compared(capsys, *(("config.yml",) if name == "plugin" else ("rows.jsonl", "--max-length", "1024")))
    assert found["differing"] == [] and found["equal"] == found["sequences"] == (3 if name == "plugin" else 12)


def test_the_marker_tells_of_a_run_that_is_not_captured(here: Path) -> None:
    run = Run("trl", "1.16.0", script("plain", "step"), ())
    _, variables = environment(run, here)
    subprocess.run([str(word) for word in run.command], env=variables, check=True, capture_output=True, timeout=300)
    assert (here / "marker").read_text() == "step\n"


def test_a_formatting_function_is_named_with_its_cut(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """TRL's own: the trainer keeps the function nowhere, its collator says nothing of it."""
    python = python_of("trl", "1.16.0")
    if not python.exists():
        pytest.skip("there is no trl 1.16.0")
    data, batches = tmp_path / "rows.jsonl", tmp_path / "b.parquet"
    words = random.Random(1)
    rows = [
        {"prompt": " ".join(words.choices(WORDS, k=12)), "completion": " ".join(words.choices(WORDS, k=25 + number))}
        for number in range(16)
    ]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    tokenizer = str(Path(builtin.folder("chatml")))
    command = [str(python), str(RUNS / "train_formatting.py"), tokenizer, str(data), str(tmp_path / "out")]
    with pytest.raises(SystemExit) as ended:
        main(["capture", "-o", str(batches), "--batches", "1", "--", *command])
    assert ended.value.code == 0, capsys.readouterr()
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main(["compare", str(batches), "--against", str(data), "-t", "builtin:chatml", "--show", "0"])
    out = capsys.readouterr().out
    assert ended.value.code == 1 and "collator" not in out
    assert "the run builds its text with the formatting function __main__.as_text" in out
    assert "have 24 tokens: the run truncates there" in out and "every token is trained in 8 of 8 sequences" in out
