"""Prove that a serialised backend equals AutoTokenizer; runs in a process of its own.

`python -m sftui.tokens.prove` imports transformers, so that the worker need not. It has no
terminal and no stdin: nothing in a tokenizer repo can ask a question.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from sftui.errors import TokenizerError
from sftui.tokens import cache
from sftui.tokens.compare import serialise
from sftui.tokens.locate import Location, fingerprint, locate
from sftui.tokens.probes import probe_strings

PACKAGE_PARENT = Path(__file__).resolve().parents[2]


def prove(name: str, revision: str | None = None, cache_dir: Path | str | None = None) -> cache.Proof:
    """Run the proof in a subprocess and read what it wrote; TokenizerError with the reference's reason.

    An unwritable cache folder is no reason to fail: the proof then lives in a temporary folder
    until this process ends.
    """
    root = cache.cache_root(cache_dir)
    try:
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=root):
            pass
    except OSError:
        root = Path(tempfile.mkdtemp(prefix="sftui-tokenizers-"))
        atexit.register(shutil.rmtree, root, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="sftui-prove-") as folder:
        answer = Path(folder) / "answer.json"
        # Started in the package's own folder: with -m the current folder comes first on sys.path,
        # and a data folder may hold a file called json.py. The child changes back by itself.
        ended = subprocess.run(
            [
                sys.executable,
                "-m",
                "sftui.tokens.prove",
                json.dumps(
                    {
                        "name": name,
                        "revision": revision,
                        "root": str(root.absolute()),
                        "cwd": os.getcwd(),
                        "answer": str(answer),
                    }
                ),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd=PACKAGE_PARENT,
            start_new_session=True,
            check=False,
        )
        try:
            found = json.loads(answer.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            lines = ended.stderr.decode("utf-8", "replace").strip().splitlines()
            raise TokenizerError(
                "the tokenizer cannot be loaded",
                where=name,
                why=f"the process that loads it ended with {ended.returncode}"
                + (f" ({lines[-1][:300]})" if lines else ""),
            ) from None
    if "error" in found:
        raise TokenizerError(**found["error"])
    proof = cache.read(root, found["key"])
    if proof is None:
        raise TokenizerError(
            "the tokenizer cannot be loaded", where=name, why=f"its proof in {root} cannot be read back"
        )
    return proof


def make_proof(name: str, revision: str | None, root: Path) -> str:
    """Load the reference, compare, write the proof; returns its key. TokenizerError, OSError."""
    from sftui.tokens.observe import observations
    from sftui.tokens.reference import load_reference, read_facts
    from sftui.tokens.refusal import no_vocabulary

    place = locate(name, revision)
    before = fingerprint(place)
    reference = load_reference(place)
    if place.kind == "hub":
        place = locate(name, revision)
    files = fingerprint(place)
    if place.kind != "hub" and files != before:
        raise TokenizerError(
            "the tokenizer cannot be loaded", where=name, why="its files changed while they were read", fix="try again"
        )
    facts = read_facts(reference, place)
    if facts.is_fast and facts.vocab_size <= len(reference.added_tokens_decoder):
        raise no_vocabulary(place, facts.vocab_size)
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
    key = cache.proof_key(place, files)
    record = {"files": files, "versions": cache.versions(), "probes": facts.probes, "name": name, "revision": revision}
    try:
        cache.write(root, key, facts, backend, record)
    except OSError as error:
        raise TokenizerError(
            "the tokenizer's proof cannot be written",
            where=str(root),
            why=error.strerror or str(error),
            fix="make room there, or set SFTUI_CACHE to another folder",
        ) from error
    return key


def _added(reference: Any) -> list[str]:
    return [token.content for _, token in sorted(reference.added_tokens_decoder.items())]


def main(arguments: list[str]) -> None:
    """Prove what the JSON argument names, and leave the answer in the file it names."""
    asked = json.loads(arguments[0])
    os.chdir(asked["cwd"])
    try:
        found: dict[str, Any] = {"key": make_proof(asked["name"], asked["revision"], Path(asked["root"]))}
    except TokenizerError as error:
        found = {"error": {"what": error.what, "where": error.where, "why": error.why, "fix": error.fix}}
    except Exception as error:
        from sftui.tokens.refusal import explain

        told = explain(error, Location(asked["name"], "unknown", asked["name"], revision=asked["revision"]))
        found = {"error": {"what": told.what, "where": told.where, "why": told.why, "fix": told.fix}}
    Path(asked["answer"]).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
