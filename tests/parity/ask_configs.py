"""Put configs to the trainers' own loaders (`open_<trainer>.py`, in the trainer's environment) and read the answers."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from case import home, shared_folder

HERE = Path(__file__).resolve().parent
ENVIRONMENTS = {
    "axolotl": "axolotl-0.19.0",
    "torchtune": "torchtune-0.6.1",
    "llamafactory": "llamafactory-0.9.5",
    "trl": "trl-1.16.0",
    "mlx-lm": "mlx-lm-0.32.2",
    "verl": "verl-0.9.1",
    "ms-swift": "ms-swift-4.6.0",
    "nemo-automodel": "nemo-automodel-0.7.0",
    "llamafactory-v1": "llamafactory-v1-0.9.6",
}
RELEASES = {"axolotl": "0.19.0", "torchtune": "0.7.0", "llamafactory": "0.9.5", "trl": "1.16.0"}
"""The newest release that sftui knows of each: what a config is read as, and what it is put to. torchtune 0.7 was never
published: its source, as text in the mirror, runs on the environment of 0.6.1."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the trainer's loader made of one config; see open_common.py."""

    path: str
    outcome: str
    at: str
    said: str
    kind: str
    reads: tuple[str, ...]
    asks: tuple[Mapping[str, Any], ...]
    values: Mapping[str, Any]
    settings: Mapping[str, Any]


def python_of(trainer: str) -> Path:
    return home() / ENVIRONMENTS[trainer] / "bin" / "python"


def ask(
    trainer: str, configs: Iterable[tuple[str, str]], data: Path | None = None, *, alone: bool = False
) -> dict[str, Answer]:
    """The answers by path, in the order of the configs; `data`: LLaMA-Factory's folder with dataset_info.json;
    `alone`: the settings of training alone."""
    asked = "".join(json.dumps(one) + "\n" for one in configs)
    with tempfile.TemporaryDirectory() as folder:
        env = {
            **os.environ,
            "STAND_IN_TOKENIZER": str(shared_folder() / "testdata" / "tokenizers" / "qwen2.5"),
            "OPEN_WORK": folder,
            "PYTHONDONTWRITEBYTECODE": "",  # else each start compiles thousands of files, which takes most of its time
        }
        if alone:
            env["SETTINGS_ALONE"] = "1"
        if data is not None:
            env["DATASET_INFO"] = str(data)
        if trainer == "torchtune":
            env["PYTHONPATH"] = str(torchtune_source(Path(folder)))
        done = subprocess.run(
            [python_of(trainer), HERE / f"open_{trainer.replace('-', '_')}.py"],
            input=asked,
            capture_output=True,
            text=True,
            cwd=folder,
            env=env,
            check=False,
        )
    lines = [json.loads(line[7:]) for line in done.stdout.splitlines() if line.startswith("ANSWER ")]
    answers = {
        one["path"]: Answer(**{**one, "reads": tuple(one["reads"]), "asks": tuple(one["asks"])}) for one in lines
    }
    if len(answers) != asked.count("\n"):
        raise RuntimeError(f"{trainer} answered {len(answers)} of {asked.count(chr(10))}: {done.stderr[-3000:]}")
    return answers


def torchtune_source(folder: Path) -> Path:
    """torchtune 0.7.0, taken out of the mirror."""
    from record_examples import REPOSITORIES, mirror

    one = REPOSITORIES["torchtune"]
    target = folder / "torchtune-0.7.0"
    target.mkdir()
    packed = subprocess.run(
        ["git", "-C", str(mirror() / one.folder), "archive", one.commit, "torchtune", "recipes", "version.txt"],
        capture_output=True,
        check=True,
    )
    subprocess.run(["tar", "-x", "-C", str(target)], input=packed.stdout, check=True)
    return target
