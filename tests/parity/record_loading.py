"""Record how each transformers release picks and builds a tokenizer: `python record_loading.py`.

Writes sftui/tokens/loading/releases.json, which `releases.py` beside it reads. Run under each of the
`transformers-VERSION` environments of `environments.py`, this same file tells the tables of
`models/auto/tokenization_auto.py` and, for every class that they name, a hash of its source without comments and
docstrings: releases with one hash build one backend.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

RECORD = Path(__file__).parents[2] / "sftui" / "tokens" / "loading" / "releases.json"
VERSIONS = ("5.5.0", "5.6.0", "5.16.1", "5.17.0", "5.20.1", "5.23.0", "5.24.0")


def tell() -> None:
    """What the transformers of this Python has, as JSON on stdout."""
    import ast
    import hashlib
    import inspect
    import textwrap

    from transformers.models.auto import tokenization_auto as auto
    from transformers.tokenization_utils_tokenizers import TokenizersBackend

    def hashed(kind: type) -> str:
        tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
        for node in ast.walk(tree):
            body = getattr(node, "body", None)
            if (
                isinstance(body, list)
                and body
                and isinstance(body[0], ast.Expr)
                and isinstance(body[0].value, ast.Constant)
            ):
                node.body = body[1:] or [ast.Pass()]  # type: ignore[attr-defined]
        return hashlib.sha256(ast.dump(tree).encode()).hexdigest()[:8]

    names = {name: (kind or "").removesuffix("Fast") for name, kind in auto.TOKENIZER_MAPPING_NAMES.items()}
    import transformers

    # A repository may also name what is only another name of a class: those of transformers 4, as ElectraTokenizer.
    four = json.loads(RECORD.with_name("four.json").read_text(encoding="utf-8"))
    exported = {name for name in dir(transformers) if name.endswith("Tokenizer") and name[0].isupper()}
    exported |= {name.removesuffix("Fast") for name in (*four["models"].values(), *four["classes"])}
    wanted = sorted({*filter(None, names.values()), *exported, "CodeLlamaTokenizer"} - {"AutoTokenizer"})
    classes, bare = {}, []
    for name in wanted:
        kind = auto.tokenizer_class_from_name(name)
        if not isinstance(kind, type) or type(kind).__name__ == "DummyObject":
            continue  # a library that it needs is not there
        if kind.__name__ in ("TokenizersBackend", "PythonBackend", "MistralCommonBackend"):
            continue
        own = [one for one in kind.__mro__ if one.__module__.startswith("transformers.models.")]
        classes[name] = "".join(hashed(one) for one in own)
        if issubclass(kind, TokenizersBackend) and "__init__" not in kind.__dict__:
            bare.append(name)
    told = {
        "models": names,
        "wrong": sorted(auto.MODELS_WITH_INCORRECT_HUB_TOKENIZER_CLASS),
        "ids": sorted(getattr(auto, "MODEL_IDS_TO_TOKENIZERS_BACKEND", ())),
        "classes": classes,
        "bare": bare,
        "bytes": hasattr(TokenizersBackend, "_tokenizer_json_has_byte_level"),
    }
    print(json.dumps(told))


def main() -> int:
    from case import home

    told = {}
    for version in VERSIONS:
        python = home() / f"transformers-{version}" / "bin" / "python"
        done = subprocess.run([str(python), __file__, "--tell"], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{python}: {done.stderr[-2000:]}")
        told[version] = json.loads(done.stdout.splitlines()[-1])
    record = {
        "versions": list(VERSIONS),
        "bytes": [told[version]["bytes"] for version in VERSIONS],
        "models": _columns({v: one["models"] for v, one in told.items()}),
        "classes": _columns({v: one["classes"] for v, one in told.items()}),
        "bare": sorted({name for one in told.values() for name in one["bare"]}),
        "wrong": {v: one["wrong"] for v, one in told.items()},
        "ids": sorted({name for one in told.values() for name in one["ids"]}),
    }
    RECORD.write_text(json.dumps(record, indent=0, sort_keys=True) + "\n", encoding="utf-8")
    return 0


def _columns(tables: dict[str, dict[str, str]]) -> dict[str, list[str | None] | str]:
    """A table of tables by key: one value where every version has the same, else one a version (null: not there)."""
    found: dict[str, list[str | None] | str] = {}
    for key in sorted({key for table in tables.values() for key in table}):
        values = [table.get(key) for table in tables.values()]
        found[key] = values[0] if len(set(values)) == 1 and values[0] is not None else values
    return found


if __name__ == "__main__":
    if "--tell" in sys.argv:
        tell()
    else:
        sys.exit(main())
