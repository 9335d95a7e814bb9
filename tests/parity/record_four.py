"""Record what the fast classes of transformers 4 do beside taking tokenizer.json: `python record_four.py`.

Writes sftui/tokens/loading/four.json, which `four.py` beside it reads. The classes are read, not run: the defaults of
each `__init__`, the flags that it gives to special tokens, and which of the steps known to `four.py` it takes. A class
with any other statement in its `__init__`, or with a `__call__` of its own, is left out: what it does is not known.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

RECORD = Path(__file__).parents[2] / "sftui" / "tokens" / "loading" / "four.json"
VERSION = "4.57.6"
TOKEN = re.compile(r"^(\w+) = AddedToken\(\1, (.*)\) if isinstance\(\1, str\) else \1$")
STEPS = (
    (r"self\.update_post_processor\(\)", "around"),
    (r"normalizer_state = |if normalizer_state\.get\(", "cased"),
    (r"pre_tok_state = json\.loads\(self\.backend_tokenizer\.normalizer|if pre_tok_state\.get\('lowercase'", "accents"),
    (r"if kwargs\.pop\('add_bos_token', False\):\n    model_id", "no_bos"),
    (r"pre_tok_state = pickle|decoder_state = pickle|if add_prefix_space:\n    pre_tok_state", "prefixed"),
    (r"tokenizer_component = 'post_processor'|tokenizer_component_instance|if tokenizer_component_inst", "trimmed"),
    (r"if add_prefix_space is not None:", "from_slow"),
    (r"if additional_special_tokens is not None:\n    extra_tokens", "extra_ids"),
    (r"additional_special_tokens = additional_special_tokens or \[\]|for token in \[prefix_token, mid", "infilling"),
)
NOTHING = (r"super\(\)\.__init__", r"self\.", r"if legacy is None:", r"[\"']", r"if self\.return_token_type_ids:")
TABLES = """
import json
from transformers.models.auto.tokenization_auto import TOKENIZER_MAPPING_NAMES as names
print(json.dumps({kind: fast for kind, (_, fast) in names.items() if fast}))
"""


def read(kind: ast.ClassDef) -> dict[str, Any] | None:
    """What a class does, in the terms of four.json; None for what is not known."""
    functions = {one.name: one for one in kind.body if isinstance(one, ast.FunctionDef)}
    init = functions.get("__init__")
    odd = {"__call__", "set_src_lang_special_tokens", "_build_translation_inputs"} & set(functions)
    inner = functions.get("_batch_encode_plus")
    passes = inner is None or ast.unparse(inner.body[-1]) == "return super()._batch_encode_plus(*args, **kwargs)"
    if init is None or odd or not passes or [ast.unparse(base) for base in kind.bases] != ["PreTrainedTokenizerFast"]:
        return None
    names = [one.arg for one in init.args.args[1:]]
    defaults = dict(zip(names[len(names) - len(init.args.defaults) :], map(ast.literal_eval, init.args.defaults)))
    flags, steps = {}, []
    for statement in init.body:
        text = ast.unparse(statement)
        token = TOKEN.match(text)
        if token:
            flags[token[1]] = _flags(token[2])
            continue
        step = next((name for pattern, name in STEPS if re.match(pattern, text)), None)
        if step is not None:
            steps.append(step)
        elif not any(re.match(pattern, text) for pattern in NOTHING):
            return None
    slow = next(filter(None, map(_slow, kind.body)), "None")
    return {
        "defaults": {key: value for key, value in defaults.items() if not key.endswith("_file")},
        "flags": flags,
        "steps": list(dict.fromkeys(steps)),
        "converter": None if slow == "None" else slow,  # its name, until all are read
    }


def _flags(text: str) -> dict[str, bool]:
    call = ast.parse(f"f({text})", mode="eval").body
    assert isinstance(call, ast.Call)
    return {str(one.arg): ast.literal_eval(one.value) for one in call.keywords}


def _slow(statement: ast.stmt) -> str:
    named = isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "slow_tokenizer_class"
    return ast.unparse(statement.value) if isinstance(statement, ast.Assign) and named else ""


def classes(root: Path) -> dict[str, dict[str, Any]]:
    """Every fast class that is known, and those that only give it another name."""
    converters, found, renamed = _converters(root), {}, {}
    for path in sorted((root / "models").glob("*/tokenization_*_fast.py")):
        for kind in ast.parse(path.read_text(encoding="utf-8")).body:
            if not isinstance(kind, ast.ClassDef):
                continue
            one = read(kind)
            if one is not None:
                found[kind.name] = {**one, "converter": converters.get(one["converter"] or "")}
            elif len(kind.bases) == 1 and not any(isinstance(part, ast.FunctionDef) for part in kind.body):
                renamed[kind.name] = ast.unparse(kind.bases[0])
    # Another name has another slow class, whose converter is not looked for.
    return {**found, **{name: {**found[of], "converter": None} for name, of in renamed.items() if of in found}}


def _converters(root: Path) -> dict[str, str]:
    """Which converter of convert_slow_tokenizer.py takes a slow class."""
    for statement in ast.parse((root / "convert_slow_tokenizer.py").read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "SLOW_TO_FAST_CONVERTERS":
            assert isinstance(statement.value, ast.Dict)
            pairs = zip(statement.value.keys, statement.value.values)
            return {ast.literal_eval(key): ast.unparse(value) for key, value in pairs if key is not None}
    return {}


def main() -> int:
    from case import home

    folder = home() / f"transformers-{VERSION}"
    root = next(folder.glob("lib/python3*/site-packages/transformers"))
    run = [str(folder / "bin" / "python"), "-c", TABLES]
    models = json.loads(subprocess.run(run, capture_output=True, text=True, check=True).stdout.splitlines()[-1])
    plain: dict[str, Any] = {"defaults": {}, "flags": {}, "steps": [], "converter": None}
    record = {"version": VERSION, "models": models, "classes": {"PreTrainedTokenizerFast": plain, **classes(root)}}
    RECORD.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(len(record["classes"]), "classes,", len(models), "model types")
    return 0


if __name__ == "__main__":
    sys.exit(main())
