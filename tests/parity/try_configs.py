"""Our own configs through sftui and through the trainers' own loaders, and where they differ.

`python tests/parity/try_configs.py [TRAINER…] [--count 40] [--seed 1]`: minutes, on request. A config counts as
refused by sftui where its reader raises, or says of a key that the trainer stops there or does not know it. Prints
every difference and the counts; exit 1 where there is one.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

from ask_configs import RELEASES, Answer, ask
from compare_configs import differences
from make_configs import configs
from record_examples import dataset_info, started_in
from trainers import module_of

from sftui.errors import SftuiError
from sftui.trainers import trainer_named
from sftui.trainers.config import KeyUse, OpenedConfig


def verdict(trainer: str, path: str, text: str, answer: Answer) -> tuple[str, list[str]]:
    """What the two make of a config, and each thing in which they are not of one mind."""
    try:
        opened = trainer_named(trainer).read_config(path, text, RELEASES[trainer])
    except SftuiError as error:
        if answer.outcome == "stops":
            return "both refuse", []
        return ("other data", []) if answer.kind else ("refused falsely", [str(error)])
    told = [note for note in opened.keys if note.use in module_of(trainer, "configs").STOPS]
    if answer.outcome == "stops":
        if told:
            return "both refuse", []
        if trainer == "axolotl" and answer.at == "tokenizer":  # see test_parity_tokenizer_type.py
            return "sftui stops when it loads the tokenizer", []
        modelled = not any(note.use is KeyUse.UNSUPPORTED for note in opened.keys)
        return ("opened, the trainer stops" if modelled else "not modelled", [answer.at + ": " + answer.said])
    if told:
        return "refused falsely", [f"{note.path}: {note.note}" for note in told]
    return _compared(trainer, opened, answer)


def _compared(trainer: str, opened: OpenedConfig, answer: Answer) -> tuple[str, list[str]]:
    found = differences(trainer, opened, answer)
    return ("differs", found) if found else ("the same", [])


def tried(trainer: str, seed: int, count: int) -> tuple[Counter[str], list[str]]:
    """The counts, and a line for every difference."""
    with tempfile.TemporaryDirectory() as folder, started_in(folder):
        data = dataset_info(Path("data"))
        made = list(configs(trainer, seed, count))
        answers = ask(trainer, made, data.resolve())
        counts: Counter[str] = Counter()
        lines = []
        for path, text in made:
            kind, told = verdict(trainer, path, text, answers[path])
            counts[kind] += 1
            if kind in ("refused falsely", "differs", "opened, the trainer stops"):
                lines.append(f"{trainer} {path}: {kind}: {'; '.join(told)}")
    return counts, lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trainers", nargs="*", default=list(RELEASES))
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    wrong = 0
    for trainer in given.trainers:
        counts, lines = tried(trainer, given.seed, given.count)
        print(*lines, sep="\n")
        print(f"{trainer}, seed {given.seed}: {given.count} configs: {dict(counts)}", flush=True)
        wrong += len(lines)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
