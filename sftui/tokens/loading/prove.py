"""Prove that a serialised backend equals AutoTokenizer; runs in a process of its own.

`python -m sftui.tokens.loading.prove` asks `autotokenizer`, under our own Python or another one, for the backend and
for the ids of the probe strings, and compares what our `tokenizers` makes of that backend. It has no terminal and no
stdin: nothing in a tokenizer repo can ask a question.
"""

from __future__ import annotations

import atexit
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sftui.errors import TokenizerError
from sftui.tokens.loading import cache, compare, environments, four
from sftui.tokens.loading.environments import Environment, own_environment
from sftui.tokens.loading.locate import Location, fingerprint, locate
from sftui.tokens.loading.probes import probe_strings
from sftui.tokens.loading.process import TokenizerProcess, start_bound
from sftui.tokens.loading.refusal import explain, refused, took_too_long
from sftui.tokens.loading.releases import loaded_otherwise

PACKAGE_PARENT = Path(__file__).resolve().parents[3]
LIMIT = 420.0
"""Seconds after which a proof is given up, as a whole."""


def prove(place: Location, environment: Environment | None = None) -> cache.Proof:
    """Run the proof in a subprocess and read what it wrote; TokenizerError with the reference's reason.

    `environment` is the one whose transformers loads (None: our own).
    An unwritable cache folder is no reason to fail: the proof then lives in a temporary folder until this process ends.
    """
    root = cache.cache_root()
    try:
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=root):
            pass
    except OSError:
        root = Path(tempfile.mkdtemp(prefix="sftui-tokenizers-"))
        atexit.register(shutil.rmtree, root, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="sftui-prove-") as folder:
        answer = Path(folder) / "answer"
        # Started in the package's own folder: with -m the current folder comes first on sys.path,
        # and a data folder may hold a file called json.py. The child changes back by itself.
        request = Path(folder) / "request"
        request.write_bytes(pickle.dumps((os.getcwd(), place, root.absolute(), environment)))
        code, lines = _run(request, place.name)
        try:
            found: str | TokenizerError = pickle.loads(answer.read_bytes())
        except (OSError, EOFError, pickle.UnpicklingError):
            last = f" ({lines[-1][:300]})" if lines else ""
            raise refused(place, f"the process that loads it ended with {code}{last}") from None
    if isinstance(found, TokenizerError):
        raise found
    proof = cache.read(root, found)
    if proof is None:
        raise refused(place, f"its verification in {root} cannot be read back")
    return proof


def _run(request: Path, name: str) -> tuple[int, list[str]]:
    """The exit code and last words of the process that proves; TokenizerError where it takes longer than LIMIT."""
    command = [sys.executable, "-m", "sftui.tokens.loading.prove", str(request)]
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    process, lifeline = start_bound(command, os.environ, cwd=PACKAGE_PARENT, **quiet)
    with lifeline:
        try:
            _, errors = process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            lifeline.close()
            process.communicate()
            raise took_too_long(name, "comparing it with AutoTokenizer", LIMIT, TokenizerProcess.endless) from None
    return process.returncode, errors.decode("utf-8", "replace").strip().splitlines()


def make_proof(place: Location, root: Path, environment: Environment | None = None) -> str:
    """Load the reference, compare, write the proof; returns its key. TokenizerError, OSError."""
    from sftui.tokens.loading.observe import observations
    from sftui.tokens.loading.reference import doubled, read_facts

    before = fingerprint(place)
    environment = environment or own_environment()
    reference = TokenizerProcess(environment, place)
    reported = reference.load()
    if place.kind == "hub":
        place = locate(place.name, place.revision, place.loader)
    files = fingerprint(place)
    if place.kind != "hub" and files != before:
        raise refused(place, "its files changed while they were being read", "try again")
    facts = read_facts(reported, place)
    if facts.is_fast and facts.vocab_size <= len(reported["added"]):
        # AutoTokenizer makes an empty tokenizer where the vocabulary files are missing.
        size, fix = facts.vocab_size, "add tokenizer.json or tokenizer.model"
        raise refused(
            place, f"it contains no vocabulary: AutoTokenizer builds an empty tokenizer with {size} tokens from it", fix
        )
    four_too = four.redone(place) if facts.is_fast and not place.loader else None
    redone = four_too.backend if four_too is not None else None
    probes = probe_strings(
        [*_in_one_only(reported, redone), *facts.special_tokens.values(), *compare.added_contents(reported)]
    )
    answers = compare.wanted(reference, probes)
    if not facts.random and compare.count_other_ids(answers, compare.wanted(reference, probes)):
        facts = replace(facts, random="a cause that its files do not reveal")
    facts = replace(facts, doubled=doubled(reported, place, reference.ask))
    backend: str | None = reported["backend"] if facts.is_fast else None
    why = ""
    if facts.random and backend is not None:
        why = f"{facts.random}{compare.DRAWN}"
    elif backend is not None and (differ := compare.backend_differences(reported, answers, probes)):
        why = f"the serialised backend differs from AutoTokenizer on {differ} of {len(probes)} probe strings, so"
    if why:
        backend = None
        facts = replace(facts, engine="transformers")
        facts = facts.noting(
            f"{why} AutoTokenizer itself does the encoding, which starts more slowly and needs more memory"
        )
    facts = replace(facts, probes=len(probes) if backend is not None else 0)
    measured = redone is not None and not facts.random  # what is drawn twice differs by itself
    elsewhere = {four.version(): compare.count_differences(answers, redone, probes, places=False)} if measured else {}
    if environment.own and not place.loader and not facts.random:
        elsewhere |= _by_other_classes(place, reference, facts.transformers, answers, probes)
    facts = replace(facts, elsewhere=elsewhere)
    facts = facts.noting(*observations(reported, facts, place, probes, answers))
    if not environment.own:
        facts = facts.noting(*_against_ours(place, environment, answers, probes))
    reference.close()
    key = cache.proof_key(place, files, environment)
    record = {
        "files": files,
        "versions": environments.versions(),
        "environment": dict(environment.versions),
        "probes": facts.probes,
        "name": place.name,
        "revision": place.revision,
    }
    try:
        cache.write(root, key, facts, backend, record)
    except OSError as error:
        raise TokenizerError(
            "the verification of the tokenizer cannot be saved",
            where=str(root),
            why=error.strerror or str(error),
            fix="free some space there, or set SFTUI_CACHE to another folder",
        ) from error
    return key


def _in_one_only(reported: dict[str, Any], redone: Any) -> list[str]:
    """The added tokens that only one of two ways of loading has, or with other flags: probed before all others."""
    if redone is None:
        return []
    flags = {
        (i, token.content, token.special, token.lstrip, token.rstrip)
        for i, token in redone.get_added_tokens_decoder().items()
    }
    return sorted({one[1] for one in flags ^ {tuple(one) for one in reported["added"]}})


def _by_other_classes(
    place: Location, reference: TokenizerProcess, running: str, answers: compare.Wanted, probes: Sequence[str]
) -> dict[str, int]:
    """How many probes get other ids by the class that another version takes, which this one has as well."""
    found: dict[str, int] = {}
    by_class: dict[str, int | None] = {}
    for version, kind in loaded_otherwise(place, running).items():
        if kind not in by_class:
            try:
                reference.load_by(kind)
                by_class[kind] = compare.count_other_ids(answers, compare.wanted(reference, probes))
            except TokenizerError:  # not known, then
                by_class[kind] = None
        count = by_class[kind]
        if count is not None:
            found[version] = count
    return found


def _against_ours(place: Location, environment: Environment, answers: Any, probes: Sequence[str]) -> tuple[str, ...]:
    """A note where the transformers that runs sftui gives other ids, or does not load the tokenizer."""
    ours = TokenizerProcess(own_environment(), place)
    theirs, running = environment.transformers, ours.environment.transformers
    try:
        ours.load()
        differ = compare.count_other_ids(answers, compare.wanted(ours, probes))
    except TokenizerError as error:
        return (f"transformers {running}, the version sftui runs with, does not load it: {error.why or error.what}",)
    finally:
        ours.close()
    if not differ:
        return ()
    return (
        f"the ids are those of transformers {theirs}: {running}, the version sftui runs with, gives different ids for"
        f" {differ} of"
        f" {len(probes)} probe strings",
    )


def main(arguments: list[str]) -> None:
    """Prove what the file asks, and leave the answer next to it: the key of the proof, or why there is none."""
    from sftui.tokens.loading.autotokenizer import stay_with_caller

    stay_with_caller()
    request = Path(arguments[0])
    folder, place, root, environment = pickle.loads(request.read_bytes())
    os.chdir(folder)
    found: str | TokenizerError
    try:
        found = make_proof(place, root, environment)
    except Exception as error:
        found = explain(error, Location(place.name, "unknown", place.name, revision=place.revision))
    request.with_name("answer").write_bytes(pickle.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1:])
