"""Prove that a serialised backend equals AutoTokenizer; runs in a process of its own.

`python -m sftui.tokens.prove` imports transformers, so that the worker need not. It has no
terminal and no stdin: nothing in a tokenizer repo can ask a question.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from sftui.errors import TokenizerError
from sftui.tokens import cache
from sftui.tokens.facts import TokenizerFacts
from sftui.tokens.locate import Location, fingerprint, locate
from sftui.tokens.probes import probe_strings

PACKAGE_PARENT = Path(__file__).resolve().parents[2]


def prove(name: str, revision: str | None = None, cache_dir: Path | str | None = None) -> cache.Proof:
    """Run the proof in a subprocess and read what it wrote; TokenizerError with the reference's reason.

    An unwritable cache folder is no reason to fail: the proof then lives in a temporary folder.
    """
    root = cache.cache_root(cache_dir)
    try:
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=root):
            pass
    except OSError:
        root = Path(tempfile.mkdtemp(prefix="sftui-tokenizers-"))
    with tempfile.TemporaryDirectory(prefix="sftui-prove-") as folder:
        answer = Path(folder) / "answer.json"
        # Started in the package's own folder: with -m the current folder comes first on sys.path,
        # and a data folder may hold a file called json.py. The child changes back by itself.
        ended = subprocess.run(
            [sys.executable, "-m", "sftui.tokens.prove", json.dumps({
                "name": name, "revision": revision, "root": str(root.absolute()), "cwd": os.getcwd(), "answer": str(answer),
            })],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=PACKAGE_PARENT,
            start_new_session=True, check=False,
        )
        try:
            found = json.loads(answer.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            lines = ended.stderr.decode("utf-8", "replace").strip().splitlines()
            raise TokenizerError(
                "the tokenizer cannot be loaded", where=name,
                why=f"the process that loads it ended with {ended.returncode}" + (f" ({lines[-1][:300]})" if lines else ""),
            ) from None
    if "error" in found:
        raise TokenizerError(**found["error"])
    proof = cache.read(root, found["key"])
    if proof is None:
        raise TokenizerError("the tokenizer cannot be loaded", where=name, why=f"its proof in {root} cannot be read back")
    return proof


def make_proof(name: str, revision: str | None, root: Path) -> str:
    """Load the reference, compare, write the proof; returns its key. TokenizerError, OSError."""
    from sftui.tokens.observe import observations
    from sftui.tokens.reference import load_reference, read_facts

    place = locate(name, revision)
    before = fingerprint(place)
    reference = load_reference(place)
    if place.kind == "hub":
        place = locate(name, revision)
    files = fingerprint(place)
    if place.kind != "hub" and files != before:
        raise TokenizerError("the tokenizer cannot be loaded", where=name, why="its files changed while they were read", fix="try again")
    facts = read_facts(reference, place)
    probes = probe_strings([*facts.special_tokens.values(), *_added(reference)])
    backend: str | None = None
    if facts.is_fast:
        backend, differ = serialise(reference, facts, probes)
        if differ:
            backend = None
            facts = replace(facts, engine="transformers").noting(
                f"the serialised backend differs from AutoTokenizer on {differ} of {len(probes)} probe strings, "
                "so AutoTokenizer itself encodes: slower to start, and more memory"
            )
    facts = replace(facts, probes=len(probes) if backend is not None else 0)
    facts = facts.noting(*observations(reference, facts, place, probes))
    record = {"files": files, "versions": cache.versions(), "probes": facts.probes, "name": name, "revision": revision}
    cache.write(root, cache.proof_key(place, files), facts, backend, record)
    return cache.proof_key(place, files)


def serialise(reference: Any, facts: TokenizerFacts, probes: tuple[str, ...]) -> tuple[str, int]:
    """The backend as text, truncation and padding off, and on how many probes it is not the reference.

    Both are off because AutoTokenizer sets them anew in each call, by default to none: what was
    saved in tokenizer.json never acts there.
    """
    from tokenizers import Tokenizer

    from sftui.tokens.loaded import FastEngine

    backend = reference.backend_tokenizer
    backend.no_truncation()
    backend.no_padding()
    text = backend.to_str()
    again = FastEngine(Tokenizer.from_str(text), split_special_tokens=facts.split_special_tokens).backend
    return text, count_differences(reference, again, probes)


def count_differences(reference: Any, backend: Any, probes: tuple[str, ...]) -> int:
    """How many probes give other ids or offsets, with or without special tokens."""
    return sum(
        any(not _same(reference, backend, probe, special) for special in (False, True)) for probe in probes
    )


def _same(reference: Any, backend: Any, text: str, special: bool) -> bool:
    wanted = reference(text, add_special_tokens=special, return_offsets_mapping=True)
    got = backend.encode(text, add_special_tokens=special)
    return list(wanted["input_ids"]) == got.ids and [tuple(o) for o in wanted["offset_mapping"]] == got.offsets


def _added(reference: Any) -> list[str]:
    return [token.content for _, token in sorted(reference.added_tokens_decoder.items())]


def main(arguments: list[str]) -> None:
    """Prove what the JSON argument names, and leave the answer in the file it names."""
    asked = json.loads(arguments[0])
    os.chdir(asked["cwd"])
    place: Location | None = None
    try:
        found: dict[str, Any] = {"key": make_proof(asked["name"], asked["revision"], Path(asked["root"]))}
    except TokenizerError as error:
        found = {"error": {"what": error.what, "where": error.where, "why": error.why, "fix": error.fix}}
    except Exception as error:
        from sftui.tokens.refusal import explain

        place = Location(asked["name"], "hub", asked["name"])
        told = explain(error, place)
        found = {"error": {"what": told.what, "where": told.where, "why": told.why, "fix": told.fix}}
    Path(asked["answer"]).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
