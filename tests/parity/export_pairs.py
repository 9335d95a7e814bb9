"""What an export to another trainer keeps of training: every example config of the trainers' repositories, exported to
every other trainer, both read by the trainers' own loaders, and what training does by each compared.

`python tests/parity/export_pairs.py [SOURCE…] [--to TARGET…]` (minutes, on request; the repositories as for
record_examples.py) prints a line a pair: configs, settings that are alike after both loaders have read their file,
settings that differ and are listed as such, placeholders, settings that differ and are not listed (0), and files
at which the target's loader stops though its placeholders are filled in (0). It ends with 1 where a setting differs
unlisted, or a loader takes a placeholder.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from ask_configs import TRAINERS, Answer, ask
from effective import SAID_BY, differing, effective
from example_repository import Repository
from record_examples import dataset_info, files
from trainers import module_of

SOURCES: Mapping[str, Repository] = {trainer: module_of(trainer, "examples").REPOSITORY for trainer in TRAINERS}
JOBS = 2
"""Loaders that run at a time."""
EXPORTS = 2
"""Processes that export."""
PLACEHOLDER = re.compile(r"FILL_IN_\w+|\?\?\?")
FILLED: Mapping[str, Any] = {
    "FILL_IN_MODEL_COMPONENT": {
        "lora": "torchtune.models.llama3_1.lora_llama3_1_8b",
        "none": "torchtune.models.llama3_1.llama3_1_8b",
    },
    "FILL_IN__COMPONENT_": "torch.optim.AdamW",
    "FILL_IN__TARGET_": "torch.optim.AdamW",
    "FILL_IN_NUM_WARMUP_STEPS": "0",
    "FILL_IN_CHECKPOINT_FILES": "[a.safetensors]",
    "FILL_IN_MODEL_TYPE": "LLAMA3",
    "FILL_IN_CHECKPOINT_DIR": "model",
    "FILL_IN_DTYPE": "bf16",
    "FILL_IN_SEED": "1",
    "FILL_IN_EPOCHS": "1",
    "FILL_IN_NUM_EPOCHS": "1",
    "FILL_IN_BATCH_SIZE": "1",
    "FILL_IN_GRADIENT_ACCUMULATION_STEPS": "1",
    "FILL_IN_LEARNING_RATE": "0.001",
    "FILL_IN_MICRO_BATCH_SIZE": "1",
}
"""What a user would put in the place of a placeholder; else the name of a model."""
NAMES = re.compile(r"FILL_IN_\w+|fill_in_\w+|[Mm]issing mandatory|\?\?\?")
MISSING = {
    "lr_scheduler": "scheduler",
    "lora_attn_modules": "lora_targets",
    "global_batch_size": "accumulation",
}
"""What a target stops at, by its name, where the source has it otherwise than the target can say it: it is listed."""


@dataclass(frozen=True, slots=True)
class Exported:
    """A config exported to another trainer: its text, the keys and settings that it lists as not exported."""

    path: str
    target: str
    text: str
    listed: frozenset[str]


@dataclass(slots=True)
class Pair:
    """The counts of one ordered pair of trainers."""

    configs: int = 0
    carried: int = 0
    listed: int = 0
    placeholders: int = 0
    differing: Counter[str] = field(default_factory=Counter)
    stops: Counter[str] = field(default_factory=Counter)
    taken: list[str] = field(default_factory=list)

    def line(self, source: str, target: str) -> str:
        counts = (self.configs, self.carried, self.listed, self.placeholders)
        ends = (sum(self.differing.values()), sum(self.stops.values()), len(self.taken))
        return f"{source:15} {target:15}" + "".join(f"{number:9}" for number in (*counts, *ends))


HEAD = f"{'source':15} {'target':15}" + "".join(
    f"{name:>9}" for name in ("configs", "alike", "listed", "to fill", "differ", "stop", "taken")
)


@lru_cache(1)
def read(source: str, path: str, text: str) -> Any:
    """A config of `source`, opened once for all targets."""
    from sftui.trainers import trainer_named

    return trainer_named(source).read_config(path, text, None)


def exported(source: str, path: str, text: str, target: str) -> Exported:
    """A config of `source` as sftui exports it to `target`; SftuiError where it does not."""
    from sftui.exports.plan import plan_export
    from sftui.exports.prepared import ExportInput
    from sftui.sources.source import LINES

    opened = read(source, path, text)
    recipe = opened.recipe
    prepared = ExportInput(paths=("data/train.jsonl",), split="train", loading=LINES, config=opened)
    with tempfile.TemporaryDirectory() as folder:
        plan = plan_export(target, folder, recipe, recipe, prepared)
    keys = [
        note.removeprefix("not exported: ").split(": ")[0] for note in plan.notes if note.startswith("not exported")
    ]
    return Exported(path, target, plan.files[0].content, listed_of(source, keys))


def listed_of(source: str, keys: Iterable[str]) -> frozenset[str]:
    """The settings that the keys of a source say."""
    from sftui.trainers.training import table_of

    found = set()
    for key in keys:
        found.add(key)
        for name, entry in table_of(source)["settings"].items():
            said = [entry["key"]] if isinstance(entry.get("key"), str) else list(entry.get("key", ()))
            said += [*entry.get("also", ()), *filter(None, [entry.get("share")])]
            said += [one for case in entry.get("cases", ()) for one in case[1]]
            if set(key.split()) & set(said) or any(one.startswith(f"{key}.") for one in said):
                found.add(name)
    return frozenset(found)


def filled(text: str) -> tuple[str, int]:
    """A text with something in the place of each placeholder, and how many there were."""
    kind = "lora" if re.search(r"^  lora_rank:", text, re.MULTILINE) else "none"

    def put(found: re.Match[str]) -> str:
        said = FILLED.get(found[0], "Qwen/Qwen2.5-0.5B")
        return str(said[kind] if isinstance(said, Mapping) else said)

    return PLACEHOLDER.subn(put, text)


def opened(source: str, most: int | None = None) -> tuple[dict[str, str], dict[str, Answer]]:
    """The example configs of a source for fine-tuning on text, or the first of them, and its loader's answers."""
    texts = {path: text.replace("$HOME", "/root") for path, text in list(files(SOURCES[source]))[: most or None]}
    with tempfile.TemporaryDirectory() as folder:
        info = dataset_info(Path(folder) / "data") if source == "llamafactory" else None
        answers = ask(source, texts.items(), info, alone=True)
    return texts, {path: one for path, one in answers.items() if one.settings and not one.kind}


def exports(source: str, targets: Sequence[str], texts: Mapping[str, str], paths: Iterable[str]) -> Iterator[Exported]:
    """Each config as every target's; none of one that sftui does not open, or whose data the target does not read."""
    with tempfile.TemporaryDirectory() as folder:
        dataset_info(Path(folder) / "data")
        with ProcessPoolExecutor(EXPORTS, get_context("spawn"), os.chdir, (folder,)) as pool:
            asked = [pool.submit(exports_of, source, path, texts[path], targets) for path in paths]
            for one in asked:
                yield from one.result()


def exports_of(source: str, path: str, text: str, targets: Iterable[str]) -> list[Exported]:
    """One config as every target's."""
    from sftui.errors import SftuiError

    found = []
    for target in targets:
        with suppress(SftuiError):
            found.append(exported(source, path, text, target))
    return found


def compared(sources: Sequence[str], targets: Sequence[str], most: int | None) -> Iterator[tuple[str, str, Pair]]:
    """The counts of every ordered pair: each loader is asked twice, for its own configs and for all exported to it."""
    answers: dict[str, dict[str, Answer]] = {}
    made: dict[str, list[tuple[str, Exported]]] = {target: [] for target in targets}
    with ThreadPoolExecutor(JOBS) as pool:
        for source, (texts, found) in zip(sources, pool.map(lambda source: opened(source, most), sources)):
            answers[source] = found
            for one in exports(source, [target for target in targets if target != source], texts, found):
                made[one.target].append((source, one))
            print(f"{source}: {len(texts)} files, {len(found)} that train on text", file=sys.stderr, flush=True)
        for pairs in pool.map(lambda target: list(counted(target, made[target], answers)), targets):
            yield from pairs


def counted(
    target: str, made: Sequence[tuple[str, Exported]], answers: Mapping[str, Mapping[str, Answer]]
) -> Iterator[tuple[str, str, Pair]]:
    """What the target's loader makes of the files, beside what each source's loader made of its configs."""
    whole = [filled(one.text) for _, one in made]
    asked = {f"{number}.yaml": text for number, (text, _) in enumerate(whole)}
    first = {source: number for number, (source, _) in reversed(list(enumerate(made))) if whole[number][1]}
    asked.update({f"open{number}.yaml": made[number][1].text for number in first.values()})
    theirs = ask(target, asked.items(), alone=True)
    pairs: dict[str, Pair] = {}
    for number, (source, one) in enumerate(made):
        pair, answer = pairs.setdefault(source, Pair()), theirs[f"{number}.yaml"]
        pair.configs += 1
        pair.placeholders += whole[number][1]
        if number == first.get(source):
            unfilled = theirs[f"open{number}.yaml"]
            if unfilled.outcome == "takes" or not NAMES.search(unfilled.said):
                pair.taken.append(f"{one.path}: {unfilled.outcome} {unfilled.said}")
        if not answer.settings:
            if not any(word in answer.said and name in one.listed for word, name in MISSING.items()):
                pair.stops[f"{answer.at}: {answer.said}"[:160]] += 1
            continue
        mine = effective(source, answers[source][one.path].settings)
        others = effective(target, answer.settings)
        wrong = differing(mine, others)
        pair.carried += len(set(mine) & set(others)) - len(wrong)
        for name, (before, after) in wrong.items():
            if one.listed.intersection((*SAID_BY.get(name, ()), name)):
                pair.listed += 1
            else:
                pair.differing[f"{name}: {before!r} → {after!r} ({one.path})"] += 1
    for source, pair in pairs.items():
        yield source, target, pair


def main() -> int:
    reader = argparse.ArgumentParser()
    reader.add_argument("sources", nargs="*")
    reader.add_argument("--to", nargs="*", default=())
    reader.add_argument("--most", type=int)
    asked = reader.parse_args()
    sys.setrecursionlimit(10_000)
    failed = False
    print(HEAD, flush=True)
    for source, target, pair in compared(asked.sources or list(SOURCES), asked.to or TRAINERS, asked.most):
        print(pair.line(source, target), flush=True)
        shown = [*pair.differing.most_common(6), *pair.stops.most_common(3), *((one, 1) for one in pair.taken)]
        print(*(f"    {number:4} {what}" for what, number in shown), sep="\n", end="\n" if shown else "", flush=True)
        failed = failed or bool(pair.differing or pair.taken)
    return int(failed)


if __name__ == "__main__":
    os.environ.setdefault("SFTUI_SHARED", "/work/shared")
    sys.exit(main())
