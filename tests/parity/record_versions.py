"""What each transformers makes of the made tokenizers and templates: `python record_versions.py [VERSION…]`.

Needs the small environments (`environments.py transformers`). A record stands under
`$SFTUI_PARITY_HOME/results/transformers-VERSION/` and is made again when its request, or what asks, changes.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import environments
import made_templates
import made_tokenizers
from case import home, shared_folder
from places import made_once

ASKS = Path(__file__).with_name("ask_transformers.py")
RENDERS_WITH = "plain-fast"
"""The made tokenizer whose special tokens the templates are rendered with."""
CHATS: tuple[list[dict[str, Any]], ...] = (
    [{"role": "user", "content": " Hi  there 你好"}, {"role": "assistant", "content": "1234 café\n\n\tx"}],
    [{"role": "user", "content": "x<|end|>y </s><tool> café wordword <left> a <right> b"}],
    [{"role": "user", "content": None}, {"role": "assistant", "content": "def f(x):\n    return x", "reasoning": "r"}],
)


def python_of(version: str) -> Path:
    """The Python of a version's environment, which may not be there."""
    return home() / f"transformers-{version}" / "bin" / "python"


ADDED = (
    *("<new>", "<gap>", "<one>", "[NEW]", "extra", "[MASK]", "[UNK]", "[PAD]", "<|endoftext|>", "<extra_id_0>"),
    *("<extra_id_99>", "<s>NOTUSED", "<unk>NOTUSED", "<bos>", "<eos>", "▁<PRE>", "▁<EOT>", "<|END_OF_TURN_TOKEN|>"),
    *("<BOS_TOKEN>", "<UNK>", "<|eot_id|>", "<|assistant|>", "<|end|>", "<|tool_call|>"),
)
"""Tokens that one version adds to some tokenizer and another does not, or that only some have."""


def folders() -> dict[str, Path]:
    """Every tokenizer that is held against the versions, by name: the made ones, and those of ../shared."""
    shared = sorted(path for path in (shared_folder() / "testdata" / "tokenizers").glob("*") if path.is_dir())
    made = {made.name: made_tokenizers.folder(made.name) for made in made_tokenizers.MADE}
    return {**made, **{f"shared/{path.name}": path for path in shared}}


def texts() -> list[str]:
    """What every tokenizer is asked to encode."""
    from sftui.tokens.loading.probes import probe_strings

    flagged = [token["content"] for token in made_tokenizers.FLAGS]
    more = [*flagged, *made_tokenizers.MARKS, *made_tokenizers.PIECES, *ADDED]
    joined = [form.format(token) for token in more for form in ("{}", "a {} b", "a{}b", "  {}\n")]
    return list(dict.fromkeys([*probe_strings(made_tokenizers.MARKS), *joined]))


def recorded_tokenizers(version: str, names: tuple[str, ...] = ()) -> dict[str, dict[str, Any]]:
    """What a version makes of tokenizers of `folders` (all, where none is named), by name."""
    named = folders()
    chosen = {name: named[name] for name in (names or named)}
    asked = [
        {"name": name, "folder": str(path), "texts": texts(), "chats": list(CHATS)} for name, path in chosen.items()
    ]
    return {one["name"]: one for one in _recorded(version, "tokenizers", {"tokenizers": asked})}


def recorded_renders(version: str) -> tuple[dict[str, str], dict[str, dict[str, Any]]]:
    """The special tokens that a version hands to templates, and what it makes of every case, by name."""
    folder = str(made_tokenizers.folder(RENDERS_WITH))
    asked = [
        {
            "name": case.name,
            "folder": folder,
            "template": case.template,
            "messages": made_templates.wire(case.chat.messages),
            "tools": made_templates.wire(case.chat.tools),
            "kwargs": made_templates.wire(case.chat.kwargs),
        }
        for case in made_templates.cases()
    ]
    first = {"name": RENDERS_WITH, "folder": folder, "texts": [], "chats": []}
    tokens, *renders = _recorded(version, "made_templates", {"tokenizers": [first], "renders": asked})
    return tokens["special_tokens"], {one["name"]: one for one in renders}


def _recorded(version: str, name: str, request: Mapping[str, Any]) -> list[dict[str, Any]]:
    told = json.dumps(request, ensure_ascii=False)
    stamp = hashlib.sha256(told.encode() + ASKS.read_bytes()).hexdigest()[:12]

    def put(path: Path) -> None:
        asked = path.with_name("request.json")
        asked.write_text(told, encoding="utf-8")
        command = [str(python_of(version)), "-I", str(ASKS), str(asked), str(path)]
        kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        done = subprocess.run(command, env=kept, capture_output=True, text=True, errors="replace")
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-4000:]}")

    made = made_once(home() / "results" / f"transformers-{version}" / f"{name}-{stamp}.jsonl", put)
    return _read(made, version)


@cache
def _read(path: Path, version: str) -> list[dict[str, Any]]:
    first, *lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    if first["transformers"] != version:
        raise RuntimeError(f"{path} is of transformers {first['transformers']}, not {version}")
    return lines


def main() -> int:
    for version in sys.argv[1:] or environments.TRANSFORMERS:
        print(version, len(recorded_tokenizers(version)), "tokenizers,", len(recorded_renders(version)[1]), "renders")
    return 0


if __name__ == "__main__":
    sys.exit(main())
