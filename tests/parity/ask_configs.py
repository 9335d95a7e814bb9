"""Put configs to the trainers' own loaders (`loader.py` of its folder, in its environment) and read the answers."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import case
import environments
from case import shared_folder
from trainers import folder_of, having, module_of

from sftui.trainers.verify.session import HERE as RUNNERS
from sftui.trainers.verify.session import command

HERE = Path(__file__).resolve().parent
TRAINERS = having("loader")
RELEASES = {trainer: module_of(trainer, "configs").RELEASE for trainer in having("configs")}
"""The newest release that sftui knows of those whose example configs are recorded: what a config is read as."""


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
    return case.python_of(*environments.split(trainer))


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
            command(python_of(trainer), folder_of(trainer) / "loader.py", HERE, RUNNERS),
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
