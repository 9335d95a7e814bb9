"""Tokenizers under every version of transformers, by every way to name one: `python versions_matrix.py [NAME…]`.

For each version and tokenizer, with `--env`, with `--transformers` (an environment that `sftui envs` made) and with
neither: are ids, offsets, rendered text and the ids of rows that version's own, or does sftui say that they are not
known, and is that so only where they are not those of the running version? Prints the counts; without names, every
tokenizer is taken and the counts go to versions.tsv beside this file. `--only VERSION` and `--by WAY` take a part of
it, so that parts can run beside each other; the whole takes half an hour. `--make` first makes the environments of
`--transformers` that are not there, under `$SFTUI_PARITY_HOME/made`.

What a version's own is, `record_versions.py` asks the version itself. Loads are shared: the proof runs in this process,
and each Python loads one tokenizer after the other (`Pooled`); `test_parity_loading.py` starts them as users do.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import environments
import record_versions
from case import home

from sftui.errors import TemplateError, TokenizerError
from sftui.recipe import changed
from sftui.session.options import OpenOptions
from sftui.session.versions import load, version_words
from sftui.templates import choose_template, compile_template, rendering_of
from sftui.tokens import LoadedTokenizer
from sftui.tokens.loading.process import LOADING, TokenizerProcess
from sftui.tokens.loading.reference import load_request
from sftui.trainers import preset
from sftui.trainers.versions import running_version

TABLE = Path(__file__).with_name("versions.tsv")
NOT_KNOWN = "are not known"
ROUTES = ("--env", "--transformers", "neither")


class Pooled(TokenizerProcess):
    """One process for each Python, which loads one tokenizer after the other."""

    running: dict[str, TokenizerProcess] = {}

    def load(self) -> dict[str, Any]:
        one = self.running.setdefault(str(self.environment.python), TokenizerProcess(self.environment, self.place))
        one.place = self.place
        process = one._process
        if process is None or process.poll() is not None:
            one.close()
            process = one._start()
        return one._exchange(process, {"load": load_request(self.place)}, LOADING)

    def load_by(self, kind: str) -> dict[str, Any]:
        return self.running[str(self.environment.python)].load_by(kind)

    def ask(self, request: Any, limit: float | None = None) -> dict[str, Any]:
        return self.running[str(self.environment.python)].ask(request, limit)

    def close(self) -> None:
        """It stays for the next."""


@dataclass
class Outcome:
    """What was compared for one version by one way, and what was otherwise."""

    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


@contextmanager
def pooled(cache: Path) -> Iterator[None]:
    """Proofs in this process, and processes shared; nothing of the user's is at hand."""
    from sftui.tokens.loading import prove as proving
    from sftui.tokens.loading.cache import Proof, cache_root, read

    def prove(place: Any, environment: Any = None) -> Proof:
        found = read(cache_root(), proving.make_proof(place, cache_root(), environment))
        assert found is not None
        return found

    kept = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "CONDA_PREFIX")}
    kept |= {"SFTUI_CACHE": str(cache), "XDG_CONFIG_HOME": str(cache)}
    with (
        mock.patch.dict(os.environ, kept, clear=True),
        mock.patch.object(proving, "TokenizerProcess", Pooled),
        mock.patch.object(proving, "prove", prove),
    ):
        try:
            yield
        finally:
            while Pooled.running:
                Pooled.running.popitem()[1].close()


def made_root() -> Path:
    """What SFTUI_CACHE is for the environments of `--transformers`."""
    return home() / "made"


def ready(version: str, route: str) -> bool:
    """Whether the environment that a way needs is there."""
    if route == "--env":
        return record_versions.python_of(version).exists()
    made = made_root() / "environments" / f"transformers-{version}" / "made.json"
    return route == "neither" or version == running_version() or made.is_file()


def compare(version: str, route: str, names: Sequence[str], cache: Path) -> Outcome:
    """Each tokenizer by one way against the version's own; call it within `pooled`."""
    outcome = Outcome()
    theirs = record_versions.recorded_tokenizers(version, _sample(names))
    ours = record_versions.recorded_tokenizers(running_version(), _sample(names))
    for name in names:
        loaded = _loaded(version, route, record_versions.folders()[name], cache)
        if isinstance(loaded, TokenizerError) and NOT_KNOWN in loaded.what and "error" not in theirs[name]:
            _not_known(outcome, theirs[name], ours[name])
        else:
            _equal(outcome, name, theirs[name], loaded, version, named=route != "neither")
    return outcome


def _sample(names: Sequence[str]) -> tuple[str, ...]:
    """What `recorded_tokenizers` is asked for: a record of all serves whoever takes all."""
    return () if set(names) == set(record_versions.folders()) else tuple(names)


def _loaded(version: str, route: str, folder: Path, cache: Path) -> LoadedTokenizer | TokenizerError:
    recipe = changed(preset("hf-trainer"), "tokenizer.name", str(folder))
    recipe = changed(recipe, "tokenizer.transformers", version)
    env = str(record_versions.python_of(version).parent.parent) if route == "--env" else None
    options = OpenOptions(paths=(), env=env)
    where = {"SFTUI_CACHE": str(made_root() if route == "--transformers" else cache)}
    try:
        with mock.patch.dict(os.environ, where):
            return load(recipe, options)
    except TokenizerError as error:
        return error


def _equal(outcome: Outcome, name: str, theirs: Any, loaded: Any, version: str, *, named: bool) -> None:
    if not named and "error" in theirs:
        outcome.counts["refused"] += 1  # what it raises there is not known without it
        return
    if isinstance(loaded, TokenizerError) or "error" in theirs:
        outcome.counts["refused"] += 1
        if not isinstance(loaded, TokenizerError) or "error" not in theirs:
            outcome.wrong.append(f"{name}: {theirs.get('message', 'loaded')} there, {loaded} here")
        return
    assert loaded.facts.transformers == version or not (named or version_words(loaded.facts))
    before = len(outcome.wrong)
    for messages, one in zip(record_versions.CHATS, theirs["chats"], strict=True):
        mine = row(loaded, messages, version)
        outcome.counts["rows"] += 1
        if mine != (None if "error" in one else one):
            outcome.wrong.append(f"{name}, {messages!r}: {one!r} there, {mine!r} here")
    for text, one in zip(record_versions.texts(), theirs["texts"], strict=True):
        mine = spelled(loaded, text)
        outcome.counts["texts"] += 1
        # Offsets are those of the tokenizers release, which is another one where the version itself does not encode.
        keys = [key for key in one if key != "error" and (named or key != "offsets")]
        if ("error" in mine) != ("error" in one) or any(mine[key] != one[key] for key in keys if key in mine):
            outcome.wrong.append(f"{name}, {text!r}: {one!r} there, {mine!r} here")
    outcome.counts["equal" if len(outcome.wrong) == before else "different"] += 1


def _not_known(outcome: Outcome, theirs: Any, ours: Any) -> None:
    """Where sftui shows no ids: right where those of the running version would be others."""
    differ = "error" in ours or any(_ids(a) != _ids(b) for a, b in zip(theirs["texts"], ours["texts"], strict=True))
    what = "not shown" if differ or theirs["added"] != ours["added"] else "false alarm"
    outcome.counts[what] += 1


def _ids(one: Any) -> Any:
    return one.get("ids"), one.get("with_special"), "error" in one


def row(loaded: LoadedTokenizer, messages: list[dict[str, Any]], version: str) -> Any:
    """The rendered text of messages and its ids; None where the template refuses them."""
    try:
        name, source = choose_template(loaded.facts.chat_templates)
        template = compile_template(source, name, rendering=rendering_of(version))
        text = template.text(messages, variables=loaded.facts.template_tokens)[0]
    except TemplateError:
        return None
    return {"text": text, "ids": list(loaded.encode(text).ids)}


def spelled(loaded: LoadedTokenizer, text: str) -> Any:
    """Ids without and with special tokens and offsets, as `ask_transformers.py` has them."""
    try:
        one, whole = loaded.encode(text), loaded.encode(text, True)
    except TokenizerError as error:
        return {"error": str(error)}
    offsets = [list(pair) for pair in zip(one.starts, one.ends)]
    return {"ids": list(one.ids), "with_special": list(whole.ids), "offsets": offsets}


COLUMNS = ("version", "route", "equal", "different", "not shown", "false alarm", "refused")


def lines(found: dict[tuple[str, str], Outcome]) -> list[str]:
    """The table of outcomes, tab separated."""

    told = [
        "\t".join((version, route, *(str(one.counts[column]) for column in COLUMNS[2:])))
        for (version, route), one in found.items()
    ]
    return ["\t".join(COLUMNS), *told]


def run(
    names: Sequence[str],
    say: Callable[[str], None],
    versions: Sequence[str] = environments.TRANSFORMERS,
    routes: Sequence[str] = ROUTES,
) -> dict[tuple[str, str], Outcome]:
    """Versions by ways whose environment is there."""
    found = {}
    with tempfile.TemporaryDirectory() as folder, pooled(Path(folder)):
        for version in versions:
            for route in routes:
                if not ready(version, route):
                    say(f"{version} {route}: no such environment, left out")
                    continue
                found[version, route] = compare(version, route, names, Path(folder))
                say(f"{version} {route}: {dict(found[version, route].counts)}")
                for one in found[version, route].wrong[:20]:
                    say(f"    {one[:400]}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--only", action="append", choices=environments.TRANSFORMERS)
    parser.add_argument("--by", action="append", choices=[route.lstrip("-") for route in ROUTES])
    parser.add_argument("--make", action="store_true", help="make the environments of --transformers that are missing")
    arguments = parser.parse_args()
    if arguments.make:
        from sftui.tokens.loading.made import make

        with mock.patch.dict(os.environ, {"SFTUI_CACHE": str(made_root())}):
            for version in environments.TRANSFORMERS:
                make(version)
    routes = [route for route in ROUTES if route.lstrip("-") in (arguments.by or [route.lstrip("-")])]
    names = arguments.names or list(record_versions.folders())
    found = run(names, lambda text: print(text, flush=True), arguments.only or environments.TRANSFORMERS, routes)
    header, *table = lines(found)
    print(header, *table, sep="\n")
    if not arguments.names:
        write(table)
    return int(any(one.wrong for one in found.values()))


def write(table: Sequence[str]) -> None:
    """Put lines into versions.tsv, in place of those of the same version and way."""
    kept = TABLE.read_text(encoding="utf-8").splitlines()[1:] if TABLE.exists() else []
    rows = {tuple(line.split("\t")[:2]): line for line in (*kept, *table)}
    order = [(version, route) for version in environments.TRANSFORMERS for route in ROUTES]
    told = [rows[key] for key in order if key in rows]
    TABLE.write_text("\n".join(["\t".join(COLUMNS), *told]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
