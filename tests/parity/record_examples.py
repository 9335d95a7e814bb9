"""How sftui opens every example config of the trainers' own repositories, as the table `examples.tsv`.

`python tests/parity/record_examples.py` reads the repositories under $SFTUI_MIRROR (default /work/.mirror), bare or
with a work tree, at the commits below, prints the counts and writes the table: trainer, path, outcome (opened, or
refused and its sentence), the keys that are told as not known, and those at which the trainer is told to stop. The
configs themselves are not kept. With `--ask TRAINER…` the trainer's own loader is asked first (minutes; see
ask_configs.py), and what it said is written to `examples_real.tsv`: trainer, path, outcome (takes, stops), what the
config is for where that is no fine-tuning on text, what it said, and the keys that it does not read.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from example_repository import Repository
from trainers import having, module_of

HERE = Path(__file__).resolve().parent
TABLE = HERE / "examples.tsv"
REAL = HERE / "examples_real.tsv"


REPOSITORIES: Mapping[str, Repository] = {
    trainer: module_of(trainer, "examples").REPOSITORY for trainer in having("configs")
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one config; `strange` are its keys that are told as not known, `stops` those at which the
    trainer is told to stop."""

    trainer: str
    path: str
    outcome: str
    sentence: str
    strange: tuple[str, ...]
    stops: tuple[str, ...]
    keys: int

    def line(self) -> str:
        return "\t".join(
            (self.trainer, self.path, self.outcome, self.sentence, " ".join(self.strange), " ".join(self.stops))
        )


def mirror() -> Path:
    """The folder that holds the repositories."""
    return Path(os.environ.get("SFTUI_MIRROR", "/work/.mirror"))


def missing() -> str:
    """Why the table cannot be recorded here; empty where every repository and commit is there."""
    for one in REPOSITORIES.values():
        folder = mirror() / one.folder
        if not folder.is_dir():
            return f"{folder} is not here: set SFTUI_MIRROR to a folder with the trainers' repositories"
        if subprocess.run(["git", "-C", str(folder), "cat-file", "-e", one.commit], capture_output=True).returncode:
            return f"{folder} has no commit {one.commit}"
    return ""


def files(one: Repository) -> Iterator[tuple[str, str]]:
    """Path and text of every example config."""
    listed = _git(one, "ls-tree", "-r", one.commit, "--name-only").split("\n")
    for path in listed:
        if re.fullmatch(one.configs, path):
            yield path, _git(one, "show", f"{one.commit}:{path}")


def _git(one: Repository, *words: str) -> str:
    return subprocess.run(
        ["git", "-C", str(mirror() / one.folder), *words], capture_output=True, text=True, check=True
    ).stdout


@contextmanager
def started_in(folder: str) -> Iterator[None]:
    """Run in another working folder, against which trainers resolve paths."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def dataset_info(folder: Path) -> Path:
    """A folder with what names the datasets of LLaMA-Factory's repository: dataset_info.json, and v1's YAML files."""
    one = REPOSITORIES["llamafactory"]
    folder.mkdir()
    for name in ("dataset_info.json", "v1_sft_demo.yaml", "v1_multimodal_demo.yaml"):
        (folder / name).write_text(_git(one, "show", f"{one.commit}:data/{name}"), encoding="utf-8")
    return folder


def outcomes() -> Iterator[Outcome]:
    """Every config, read as the newest release that sftui knows, with no network and no data."""
    with tempfile.TemporaryDirectory() as folder, started_in(folder):
        dataset_info(Path("data"))
        for trainer, one in REPOSITORIES.items():
            for path, text in files(one):
                yield outcome(trainer, path, text)


def outcome(trainer: str, path: str, text: str) -> Outcome:
    """One config opened, or refused."""
    from sftui.errors import SftuiError
    from sftui.trainers import trainer_named
    from sftui.trainers.config import KeyUse

    try:
        opened = trainer_named(trainer).read_config(path, text, None)
    except SftuiError as error:
        sentence = str(error).removeprefix(f"{path}: ").replace(path, "CONFIG")
        return Outcome(trainer, path, "refused", re.sub(r"\s+", " ", sentence), (), (), 0)
    strange = sorted(key.path for key in opened.keys if key.use in (KeyUse.UNKNOWN, KeyUse.UNSURE))
    stops = sorted(key.path for key in opened.keys if key.use in (KeyUse.STOPS, KeyUse.NEWEST_STOPS))
    return Outcome(trainer, path, "opened", "", tuple(strange), tuple(stops), len(opened.keys))


def counts(found: list[Outcome]) -> Iterator[str]:
    """A line for each trainer."""
    for trainer in REPOSITORIES:
        mine = [one for one in found if one.trainer == trainer]
        told = Counter(one.outcome for one in mine)
        strange = sum(len(one.strange) for one in mine)
        keys = sum(one.keys for one in mine)
        yield (
            f"{trainer}: {len(mine)} configs, {told['opened']} opened, {told['refused']} refused; {strange} of"
            f" {keys} keys not known"
        )


@dataclass(frozen=True, slots=True)
class Real:
    """What the trainer's own loader said of a config; `left` are the keys that it does not read."""

    trainer: str
    path: str
    outcome: str
    kind: str
    said: str
    left: tuple[str, ...]

    def line(self) -> str:
        return "\t".join((self.trainer, self.path, self.outcome, self.kind, self.said, " ".join(self.left)))


def asked(trainer: str) -> Iterator[Real]:
    """Every config through the trainer's own loader."""
    import yaml
    from ask_configs import ask

    texts = dict(files(REPOSITORIES[trainer]))
    with tempfile.TemporaryDirectory() as folder:
        answers = ask(trainer, texts.items(), dataset_info(Path(folder) / "data"))
    for path, text in texts.items():
        answer = answers[path]
        left = sorted({str(key) for key in yaml.safe_load(text)} - set(answer.reads))
        if trainer == "torchtune":  # a recipe does not read what the config refers to itself
            left = [key for key in left if f"${{{key}" not in text]
        yield Real(trainer, path, answer.outcome, answer.kind, answer.said, tuple(left))


def real() -> dict[tuple[str, str], Real]:
    """What the trainers said, as it is checked in."""
    found = {}
    for line in REAL.read_text(encoding="utf-8").splitlines()[1:]:
        trainer, path, outcome, kind, said, left = line.split("\t")
        found[trainer, path] = Real(trainer, path, outcome, kind, said, tuple(left.split()))
    return found


def verdicts(found: Mapping[tuple[str, str], Outcome], theirs: Mapping[tuple[str, str], Real]) -> Counter[str]:
    """How often the two are of one mind, by trainer: see `verdict`."""
    return Counter(f"{key[0]}: {verdict(one, theirs[key])}" for key, one in found.items())


def verdict(ours: Outcome, theirs: Real) -> str:
    """Whether sftui may refuse a config: where the trainer stops, or where it is for something else."""
    if ours.outcome == "opened":
        return "opened, and the trainer takes it" if theirs.outcome == "takes" else "opened, and the trainer stops"
    if theirs.outcome == "stops":
        return "refused, and the trainer stops"
    return "refused by name, no fine-tuning on text" if theirs.kind else "refused falsely"


def kept() -> dict[tuple[str, str], Outcome]:
    """sftui's outcomes, as they are checked in."""
    found = {}
    for key, line in recorded().items():
        parts = [*line.split("\t"), "", "", ""][:6]
        found[key] = Outcome(
            parts[0], parts[1], parts[2], parts[3], tuple(parts[4].split()), tuple(parts[5].split()), 0
        )
    return found


def recorded() -> Mapping[tuple[str, str], str]:
    """The table as it is checked in: (trainer, path) → its line."""
    lines = TABLE.read_text(encoding="utf-8").splitlines()[1:]
    return {tuple(line.split("\t")[:2]): line for line in lines}  # type: ignore[misc]


def main() -> int:
    why = missing()
    if why:
        sys.exit(why)
    for trainer in sys.argv[2:] if sys.argv[1:2] == ["--ask"] else ():
        held = real() if REAL.exists() else {}
        held.update({(one.trainer, one.path): one for one in asked(trainer)})
        from ask_configs import RELEASES

        lines = [held[key].line() for key in sorted(held)]
        REAL.write_text("\n".join(["# " + json.dumps(RELEASES), *lines]) + "\n", encoding="utf-8")
    found = sorted(outcomes(), key=lambda one: (one.trainer, one.path))
    head = "# " + json.dumps({name: one.commit for name, one in REPOSITORIES.items()})
    TABLE.write_text("\n".join([head, *(one.line() for one in found)]) + "\n", encoding="utf-8")
    print(*counts(found), sep="\n")
    if REAL.exists():
        mine = {(one.trainer, one.path): one for one in found}
        theirs = real()
        told = verdicts({key: one for key, one in mine.items() if key in theirs}, theirs)
        print(*(f"{number:4} {what}" for what, number in sorted(told.items())), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
