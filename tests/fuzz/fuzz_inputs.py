"""Inputs for the fuzzer: what sftui reads, taken from right examples and bent, by a seeded generator.

Every input is plain JSON data, so that one that failed can be kept in `corpus/` and read by a person. None may crash,
stall or exhaust other programs, or get past a guard of theirs: what they refuse, they refuse in the ordinary way.
"""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "parity"))
from trainers import having, module_of

HOSTILE_TEXTS = (
    "",
    " ",
    "x",
    "assistant",
    "user",
    "text",
    "null",
    "true",
    "0",
    "-1",
    "1e999",
    "\x00",
    "\x1b[31mtitle\x07",
    "\x9b31m",
    "\u202eabc",
    "\ud800",
    "\udc80",
    "e\u0301" * 5,
    "\u200b",
    "\ufeff",
    "\r\n",
    "<|im_end|>",
    "<|im_start|>assistant\n",
    "<think>a</think>",
    "</think>",
    "{% generation %}",
    "{{ messages }}",
    "${dataset.source}",
    "${",
    "[[",
    "{'a': 1}",
    '{"name": "f", "arguments": {}}',
    "file:/dev/null",
    "file:\x00",
    "builtin:chatml",
    "builtin:nope",
    "axolotl/chatml",
    "../" * 5,
    "a" * 300,
    "a" * 5000,
    "/" + "b" * 4200,
    "trl@1.16",
    "trl@",
    "@",
    "https://x.invalid/y",
    "data.jsonl",
    "*.json",
    "~",
    "~nobody/x",
    "\\N",
    "%s %d {0} {x}",
    "١٢",
    "²",
)
ATOMS: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    1,
    -1,
    -100,
    2**31,
    2**63,
    2**64,
    -(2**70),
    10**30,
    0.5,
    -0.0,
    1e308,
    float("inf"),
    float("nan"),
    [],
    {},
    [[]],
    [{}],
    {"": ""},
    [None],
    [1, "a", None],
    {"type": "text", "text": "hi"},
    [{"type": "text", "text": "hi"}, {"type": "image"}],
    {"role": "user", "content": "hi"},
    {"function": {"name": "f", "arguments": "{"}},
)


def text(pick: Random) -> str:
    """A short hostile text, or two of them joined."""
    if pick.random() < 0.1:
        return "".join(
            chr(pick.choice((pick.randrange(32), pick.randrange(128), pick.randrange(0x110000)))) for _ in "abc"
        )
    one = pick.choice(HOSTILE_TEXTS)
    return one + pick.choice(HOSTILE_TEXTS) if pick.random() < 0.15 else one


def value(pick: Random, depth: int = 0) -> Any:
    """Any JSON value, seldom a deep one."""
    chance = pick.random()
    if depth < 3 and chance < 0.12:
        return [value(pick, depth + 1) for _ in range(pick.randint(0, 3))]
    if depth < 3 and chance < 0.24:
        return {text(pick): value(pick, depth + 1) for _ in range(pick.randint(0, 3))}
    if chance < 0.26:
        return _deep(pick)
    return text(pick) if chance < 0.65 else copy.deepcopy(pick.choice(ATOMS))


def _deep(pick: Random) -> Any:
    made: Any = "x"
    for _ in range(pick.choice((20, 60, 120))):
        made = [made] if pick.random() < 0.5 else {"a": made}
    return made


Place = tuple[Any, Any]


def _places(tree: Any, found: list[Place]) -> list[Place]:
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, inner in items:
        found.append((tree, key))
        _places(inner, found)
    return found


def bent(tree: Any, pick: Random, keys: Sequence[str] = (), most: int = 3) -> Any:
    """A copy of a tree of dicts and lists with one to `most` things wrong in it; `keys` are names to use."""
    tree = copy.deepcopy(tree)
    for _ in range(pick.randint(1, most)):
        places = _places(tree, [])
        if not places:
            return value(pick)
        holder, key = pick.choice(places)
        try:
            pick.choice(_WAYS)(holder, key, pick, keys)
        except (KeyError, IndexError, TypeError):
            continue
    return tree


def _replace(holder: Any, key: Any, pick: Random, keys: Sequence[str]) -> None:
    holder[key] = value(pick)


def _drop(holder: Any, key: Any, pick: Random, keys: Sequence[str]) -> None:
    del holder[key]


def _wrap(holder: Any, key: Any, pick: Random, keys: Sequence[str]) -> None:
    holder[key] = [holder[key]] if pick.random() < 0.5 else {pick.choice([*keys, "a"]): holder[key]}


def _unwrap(holder: Any, key: Any, pick: Random, keys: Sequence[str]) -> None:
    inner = holder[key]
    holder[key] = next(iter(inner.values() if isinstance(inner, dict) else inner), None) if inner else inner


def _as_text(holder: Any, key: Any, pick: Random, keys: Sequence[str]) -> None:
    holder[key] = json.dumps(holder[key])


def _rename(holder: Any, key: Any, pick: Random, keys: Sequence[str]) -> None:
    if isinstance(holder, dict):
        holder[pick.choice([*keys, text(pick)])] = holder.pop(key)


def _add(holder: Any, key: Any, pick: Random, keys: Sequence[str]) -> None:
    if isinstance(holder, dict):
        holder[pick.choice([*keys, *keys, text(pick)])] = value(pick)
    else:
        holder.insert(pick.randint(0, len(holder)), value(pick))


def _repeat(holder: Any, key: Any, pick: Random, keys: Sequence[str]) -> None:
    if isinstance(holder, list):
        holder[key:key] = [copy.deepcopy(holder[key])] * pick.randint(1, 3)
    else:
        holder[text(pick)] = copy.deepcopy(holder[key])


def _spoil(holder: Any, key: Any, pick: Random, keys: Sequence[str]) -> None:
    if isinstance(holder[key], str):
        at = pick.randint(0, len(holder[key]))
        holder[key] = holder[key][:at] + text(pick) + holder[key][at:]
    else:
        holder[key] = value(pick)


def _swap(holder: Any, key: Any, pick: Random, keys: Sequence[str]) -> None:
    other = pick.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
    holder[key], holder[other] = holder[other], holder[key]


_WAYS: tuple[Callable[[Any, Any, Random, Sequence[str]], None], ...] = (
    _replace,
    _replace,
    _drop,
    _wrap,
    _unwrap,
    _as_text,
    _rename,
    _add,
    _repeat,
    _spoil,
    _spoil,
    _swap,
)

_CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": {"a": 1}}}
_TOOL = {
    "type": "function",
    "function": {
        "name": "f",
        "description": "d",
        "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}},
    },
}
ROWS: tuple[dict[str, Any], ...] = (
    {"messages": [{"role": "user", "content": "Hello?"}, {"role": "assistant", "content": "Hi."}]},
    {
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hello?"},
            {"role": "assistant", "content": "Hi.", "weight": 1},
            {"role": "user", "content": "And?", "train": False},
            {"role": "assistant", "content": "No.", "reasoning_content": "hm"},
        ]
    },
    {
        "messages": [
            {"role": "user", "content": "f?"},
            {"role": "assistant", "content": "", "tool_calls": [_CALL]},
            {"role": "tool", "tool_call_id": "c1", "content": "1"},
            {"role": "assistant", "content": "<think>one</think>It is 1."},
        ],
        "tools": [_TOOL],
        "chat_template_kwargs": {"enable_thinking": True},
    },
    {"conversations": [{"from": "human", "value": "Hello?"}, {"from": "gpt", "value": "Hi."}], "system": "Be brief."},
    {
        "conversations": [
            {"from": "human", "value": "f?"},
            {"from": "function_call", "value": '{"name": "f", "arguments": {}}'},
            {"from": "observation", "value": "1"},
            {"from": "gpt", "value": "One."},
        ],
        "tools": json.dumps([_TOOL]),
    },
    {"instruction": "Add.", "input": "1 1", "output": "2", "history": [["a", "b"]], "system": "s"},
    {"prompt": "Once", "completion": " upon"},
    {
        "prompt": [{"role": "user", "content": "Hello?"}],
        "completion": [{"role": "assistant", "content": "Hi."}],
    },
    {"question": "Q?", "answer": "A."},
    {"text": "All of it.<|im_end|>"},
    {"segments": [{"text": "a", "label": False}, {"text": "b", "label": True}]},
    {"input_ids": [1, 2, 3, 4], "labels": [-100, -100, 3, 4], "attention_mask": [1, 1, 1, 1]},
    {"input_ids": [1, 2, 3, 4], "completion_mask": [0, 0, 1, 1]},
    {
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
            {"role": "assistant", "content": [{"type": "text", "text": "Ho"}]},
        ]
    },
)
ROW_KEYS = (
    "messages",
    "conversations",
    "role",
    "content",
    "from",
    "value",
    "prompt",
    "completion",
    "text",
    "instruction",
    "input",
    "output",
    "history",
    "system",
    "tools",
    "tool_calls",
    "function",
    "name",
    "arguments",
    "id",
    "weight",
    "train",
    "training",
    "train_detail",
    "reasoning_content",
    "thinking",
    "chat_template_kwargs",
    "input_ids",
    "labels",
    "attention_mask",
    "completion_mask",
    "assistant_masks",
    "segments",
    "label",
    "chosen",
    "rejected",
    "images",
    "kto_tag",
    "position_ids",
)


def row(pick: Random) -> Any:
    """A row of one of the formats, nearly always with something wrong."""
    base = pick.choice(ROWS)
    return bent(base, pick, ROW_KEYS) if pick.random() < 0.93 else copy.deepcopy(base)


_RECIPE = {
    "preset": "trl@1.16",
    "data": {
        "format": "messages",
        "fields": {"messages": "messages"},
        "message_keys": {"role": "role"},
        "role_map": {"human": "user"},
    },
    "tokenizer": {"name": "builtin:chatml", "eos_token": "<|im_end|>"},
    "render": {"template": "builtin:chatml", "kwargs": {"enable_thinking": True}},
    "mask": {"rule": "assistant", "roles": ["assistant"], "options": {}},
    "length": {"max": 64, "over": "cut_right"},
    "pack": {"strategy": "bfd"},
    "batch": {"size": 2, "multiple": 8},
    "waivers": [{"code": "LAB001", "reason": "known", "rows": "1-3"}],
}
CONFIGS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("recipe", _RECIPE),
    *((trainer, config) for trainer in having("fuzz") for config in module_of(trainer, "fuzz").CONFIGS),
)
_SETTINGS = {"theme": "ansi", "mouse": False, "keymap": {"row.next": "J", "app.quit": "q,Q"}}
YAML_PIECES = (
    "[&a x, *a]",
    "*a",
    "<<: *a",
    "<<: {a: 1}",
    '!!float ""',
    "!!int x",
    "!!binary x",
    "!!set {a}",
    "!!omap [a: 1]",
    "!!timestamp x",
    "2024-01-01",
    "2024-13-45",
    "!!python/object:made_up.Thing x",
    "!x y",
    "? [a, b]\n: c",
    "? {a: 1}\n: c",
    "\t",
    "\n",
    "\n- ",
    "---\n",
    "...\n",
    "%YAML 9.9\n---\n",
    "'",
    '"',
    "|\n  x",
    ">-\n",
    "#",
    ": ",
    "{",
    "}",
    "[",
    "]",
    ",",
    "\x00",
    "\x85",
    "\ufeff",
    "1:2:3",
    "0o9",
    "0x",
    ".inf",
    "~",
    "=",
    "1" * 5000,
)


def yaml_text(tree: Any, pick: Random) -> str:
    """A tree as YAML: in flow style, or the first level in block style; sometimes with the text itself bent."""
    if isinstance(tree, dict) and pick.random() < 0.7:
        made = "".join(
            f"{key if _plain(key) else json.dumps(key)}: {json.dumps(inner)}\n" for key, inner in tree.items()
        )
    else:
        made = json.dumps(tree) + "\n"
    if pick.random() < 0.25:
        for _ in range(pick.randint(1, 3)):
            at = pick.randint(0, len(made))
            cut = pick.choice((0, 0, 1, 5))
            made = made[:at] + pick.choice(YAML_PIECES) + made[at + cut :]
    return made


def _plain(key: Any) -> bool:
    return isinstance(key, str) and key.isidentifier() and key.isascii()


def config(pick: Random) -> dict[str, Any]:
    """A recipe or a trainer's config: {kind, text, row}."""
    kind, base = pick.choice(CONFIGS)
    tree: Any = {key: inner for key, inner in base.items() if pick.random() < 0.8}
    keys = tuple(key for _, one in CONFIGS for key in one)
    if pick.random() < 0.9:
        tree = bent(tree, pick, keys)
    return {
        "kind": kind,
        "text": yaml_text(tree, pick),
        "row": copy.deepcopy(pick.choice(ROWS)),
        "knob": pick.random(),
        "as": pick.random(),
    }


def settings(pick: Random) -> dict[str, Any]:
    return {"text": yaml_text(bent(_SETTINGS, pick, ("theme", "mouse", "keymap")), pick)}


TEMPLATE_PIECES = (
    "{% for m in messages %}",
    "{% endfor %}",
    "{{ m.role }}",
    "{{ m['content'] }}",
    "{% if add_generation_prompt %}",
    "{% endif %}",
    "{% else %}",
    "{% generation %}",
    "{% endgeneration %}",
    "{{ bos_token }}",
    "{{ raise_exception('no') }}",
    "{{ strftime_now('%Y') }}",
    "{{ tools | tojson }}",
    "{% set ns = namespace(a=1) %}",
    "{% set ns.a = ns.a + 1 %}",
    "{% macro f(x) %}{{ x }}{% endmacro %}",
    "{{ f(m) }}",
    "{%- if m.role == 'user' -%}",
    "{{ m.content | trim }}",
    "{{ m.content.split('</think>')[-1] }}",
    "{{ messages[0].content[0].text }}",
    "{{ loop.index0 }}",
    "{% break %}",
    "{{ m._hidden }}",
    "{{ x.y.z }}",
    "{{ 1 / 0 }}",
    "{{ messages | length | int('a') }}",
    "{{ m | tojson(indent=2) }}",
    "{% include 'a' %}",
    "{% call f() %}{% endcall %}",
    "{{ none + 1 }}",
    "{{ (m.content ~ '') | replace('a', 'b') }}",
    "{# c #}",
    "{{",
    "}}",
    "{%",
    "%}",
    "<|im_start|>",
    "<|im_end|>\n",
    "\x1b[0m",
    "{{ '%s' % m }}",
    "{{ m.items() | list }}",
    "{{ messages | map(attribute='role') | join(',') }}",
    "{{ messages | selectattr('role', 'equalto', 'user') | list | count }}",
    "{{ cycler('a','b').next() }}",
    "{{ m.content[5:1:-1] }}",
    "{% filter upper %}a{% endfilter %}",
    "{{ undefined_thing }}",
    "{{ m.content | items }}",
    "{{ m.tool_calls | first }}",
)
CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def template(pick: Random) -> dict[str, Any]:
    """A chat template made of pieces, and rows to render."""
    if pick.random() < 0.4:
        source = CHATML
        for _ in range(pick.randint(1, 3)):
            at = pick.randint(0, len(source))
            source = source[:at] + pick.choice(TEMPLATE_PIECES) + source[at + pick.choice((0, 0, 3)) :]
    else:
        source = (
            "{% for m in messages %}"
            + "".join(pick.choice(TEMPLATE_PIECES) for _ in range(pick.randint(1, 5)))
            + "{% endfor %}"
        )
    return {"source": source, "row": row(pick), "tags": pick.random() < 0.05}


_TOKENIZER = {
    "version": "1.0",
    "truncation": None,
    "padding": None,
    "added_tokens": [
        {
            "id": 0,
            "content": "<s>",
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
        },
        {
            "id": 9,
            "content": "<|im_end|>",
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
        },
    ],
    "normalizer": {"type": "NFC"},
    "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "\\s+|\\w+"}, "behavior": "Isolated", "invert": False},
    "post_processor": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False},
    "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
    "model": {
        "type": "BPE",
        "dropout": None,
        "unk_token": "<s>",
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": False,
        "vocab": {"<s>": 0, "a": 1, "b": 2, "ab": 3, "H": 4, "i": 5, ".": 6, "e": 7, "l": 8},
        "merges": [["a", "b"]],
    },
}
_TOKENIZER_CONFIG = {
    "tokenizer_class": "PreTrainedTokenizerFast",
    "bos_token": "<s>",
    "eos_token": {"content": "<|im_end|>", "special": True},
    "pad_token": None,
    "model_max_length": 64,
    "padding_side": "left",
    "chat_template": CHATML,
    "added_tokens_decoder": {"9": {"content": "<|im_end|>", "special": True}},
    "extra_special_tokens": {"image_token": "<image>"},
    "add_bos_token": True,
    "split_special_tokens": False,
}


def tokenizer(pick: Random) -> dict[str, Any]:
    """A tokenizer's folder: {files: name → text, row}."""
    which = pick.random()
    files = {
        "tokenizer.json": json.dumps(bent(_TOKENIZER, pick) if which < 0.45 else _TOKENIZER),
        "tokenizer_config.json": json.dumps(bent(_TOKENIZER_CONFIG, pick) if which > 0.35 else _TOKENIZER_CONFIG),
    }
    if pick.random() < 0.2:
        files["special_tokens_map.json"] = json.dumps(bent({"eos_token": "<s>", "unk_token": {"content": "a"}}, pick))
    if pick.random() < 0.1:
        files["generation_config.json"] = json.dumps(bent({"eos_token_id": [9, 0]}, pick))
    if pick.random() < 0.1:
        files["config.json"] = json.dumps(
            bent({"model_type": "qwen2", "vocab_size": 10, "max_position_embeddings": 64}, pick)
        )
    for name in list(files):
        if pick.random() < 0.04:
            files[name] = files[name][: pick.randint(0, len(files[name]))] + text(pick)
    return {"files": files, "row": copy.deepcopy(pick.choice(ROWS[:9]))}


KNOBS = (
    "data.format",
    "data.fields",
    "data.message_keys",
    "data.role_map",
    "data.strings",
    "tokenizer.name",
    "tokenizer.eos_token",
    "render.template",
    "render.kwargs",
    "render.inject_system",
    "tokenize.bos",
    "mask.rule",
    "mask.roles",
    "mask.turns",
    "own",
    "mask.options.type",
    "own.train_on_eos",
    "mask.ignore_index",
    "mask.response_marker",
    "length.max",
    "length.over",
    "length.min_tokens",
    "pack.strategy",
    "pack.group",
    "batch.size",
    "batch.multiple",
    "batch.pad_token",
    "loss.shift",
    "nope.nope",
    "mask",
    "",
    ".",
    "mask.",
)
WORDS = (
    "--set",
    "--field",
    "--template",
    "--serve",
    "--trainer",
    "--data-format",
    "--tokenizer",
    "--max-length",
    "--split",
    "--subset",
    "--rows-in",
    "--dataset",
    "--recipe",
    "--config",
    "--tokenizer-revision",
    "--select",
    "--ignore",
    "--with",
    "--fail-on",
    "--to",
    "--apply",
    "--drop",
    "--where",
)


def options(pick: Random) -> dict[str, Any]:
    """Words of a command line with values that do not fit."""
    words: list[str] = []
    for _ in range(pick.randint(1, 4)):
        name = pick.choice(WORDS)
        said = text(pick) if pick.random() < 0.6 else json.dumps(value(pick))
        words += [
            name,
            f"{pick.choice(KNOBS)}={said}" if name in ("--set", "--field") and pick.random() < 0.9 else said,
        ]
    return {
        "command": pick.choice(
            ("show", "check", "encode", "compare", "export", "repair", "convert", "template", "explain")
        ),
        "words": words,
    }


def data_bytes(pick: Random) -> dict[str, Any]:
    """A data file: {name, bytes as latin-1 text}."""
    kind = pick.choice(("jsonl", "jsonl", "jsonl", "json", "json", "csv", "csv", "tsv", "parquet"))
    rows = [row(pick) for _ in range(pick.randint(1, 4))]
    if kind == "jsonl":
        made = b"\n".join(_dumped(one, pick) for one in rows) + b"\n"
    elif kind == "json":
        tree: Any = (
            rows if pick.random() < 0.6 else {pick.choice(("train", "data", "rows", "version")): rows, "x": value(pick)}
        )
        made = _dumped(tree, pick)
    elif kind in ("csv", "tsv"):
        sign = "," if kind == "csv" else "\t"
        made = "\n".join(
            sign.join(_cell(pick, sign) for _ in range(pick.choice((3, 3, 3, 2, 4)))) for _ in range(pick.randint(1, 6))
        ).encode("utf-8", "surrogatepass")
    else:
        made = _parquet(pick)
    if kind == "parquet":
        made = _bent_parquet(made, pick)
    elif pick.random() < 0.35 and made:
        for _ in range(pick.randint(1, 4)):
            at = pick.randrange(len(made) + 1)
            piece = pick.choice(
                (
                    bytes([pick.randrange(256)]),
                    b"",
                    b"\x00",
                    b"\xff\xfe",
                    b"\n",
                    b'"',
                    b"[[[[",
                    b"\xed\xa0\x80",
                    b"NaN",
                    b"1e999",
                    b"\x1f\x8b",
                )
            )
            made = made[:at] + piece + made[at + len(piece) if pick.random() < 0.8 else at + pick.randrange(40) :]
    return {
        "name": f"data.{kind}",
        "bytes": made.decode("latin-1"),
        "field": pick.choice((None, None, None, "train", text(pick))),
    }


def _dumped(tree: Any, pick: Random) -> bytes:
    ascii_only = pick.random() < 0.5
    return json.dumps(tree, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")


def _cell(pick: Random, sign: str) -> str:
    cell = pick.choice(
        (
            text(pick),
            str(pick.choice(ATOMS)),
            "messages",
            "text",
            "prompt",
            str(2**64),
            "1",
            "a",
            "",
            "NaN",
            "1e400",
            "True",
            "0x1",
            "2024-01-01",
        )
    )
    return '"' + cell.replace('"', '""') + '"' if pick.random() < 0.4 or sign in cell else cell


def _bent_parquet(made: bytes, pick: Random) -> bytes:
    """Cut off, or with a name that is no UTF-8: its readers are not made for any byte anywhere."""
    chance = pick.random()
    if chance < 0.3:
        return made[: pick.randrange(len(made))]
    if chance < 0.7:
        name = pick.choice((b"messages", b"content", b"role", b"element", b"input_ids", b"output"))
        at = pick.randrange(len(name))
        return made.replace(name, name[:at] + bytes([pick.randrange(128, 256)]) + name[at + 1 :])
    return made


_PARQUET: dict[int, bytes] = {}


def _parquet(pick: Random) -> bytes:
    """One of a few files that are made once."""
    number = pick.randrange(4)
    if number not in _PARQUET:
        import io

        import pyarrow as pa
        import pyarrow.parquet as pq

        rows = [ROWS[0], ROWS[3], ROWS[5], ROWS[11]][number]
        file = io.BytesIO()
        pq.write_table(pa.Table.from_pylist([rows] * 3), file, compression="none" if number % 2 else "snappy")
        _PARQUET[number] = file.getvalue()
    return _PARQUET[number]


def side_file(pick: Random) -> dict[str, Any]:
    """A file that sftui keeps or takes beside the data: marks, a baseline, waivers, a saved folder's."""
    kind, base = pick.choice(
        (
            ("marks", {"row": 17, "mark": "drop", "note": "x"}),
            ("baseline", {"version": 2, "findings": {"LAB001": ["0a"]}}),
            ("waivers", [{"code": "LAB001", "reason": "r", "rows": "1-3", "roles": ["a"]}]),
            ("dataset_info", {"one": {"file_name": "a.json", "columns": {"prompt": "p"}}}),
            (
                "saved",
                {"_data_files": [{"filename": "data-00000-of-00001.arrow"}], "_split": "train", "_fingerprint": "x"},
            ),
            ("splits", {"splits": ["train", "test"]}),
            ("state", {"_data_files": [{"filename": "../x"}]}),
        )
    )
    made = (
        json.dumps(bent(base, pick, ("row", "mark", "note", "findings", "version", "code", "reason")))
        if pick.random() < 0.9
        else pick.choice(("[" * 1_200, '{"a":' * 1_200, text(pick)))
    )
    return {"kind": kind, "text": made}


def rows(pick: Random) -> dict[str, Any]:
    """Rows under a recipe: {preset and knobs by number, rows}."""
    return {
        "preset": pick.randrange(1000),
        "knobs": [[pick.randrange(1000), pick.random()] for _ in range(pick.choice((0, 0, 0, 1, 2)))],
        "rows": [row(pick) for _ in range(pick.choice((1, 1, 1, 2)))],
        "more": pick.random(),
    }


def shown_text(pick: Random) -> dict[str, Any]:
    return {"text": "".join(text(pick) for _ in range(pick.randint(1, 6))), "width": pick.randint(1, 40)}


FILE_NAMES = (
    "a.jsonl",
    "b.json",
    "c.csv",
    "train-00000-of-00002.jsonl",
    "train-00001-of-00002.jsonl",
    "test.jsonl",
    "\x1b[31mx\x07.jsonl",
    "-rf.jsonl",
    "[a-z]*.jsonl",
    "d\udcff.jsonl",
    "new\nline.jsonl",
    "data.jsonl.gz",
    "data.jsonl.zst",
    "dataset_info.json",
    "state.json",
    "e.parquet",
    "README.md",
    "sub/f.jsonl",
    "sub/.hidden.jsonl",
)
ASKED = ("", "", "", "*", "*.jsonl", "sub", "**/*.jsonl", "train-*", "nowhere", "[a-z]*.jsonl", "link", "-rf.jsonl")


def data_folder(pick: Random) -> dict[str, Any]:
    """A folder of data files: {name: bytes as latin-1}, links in it, and which of it is asked for."""
    files = {}
    for name in pick.sample(FILE_NAMES, pick.randint(1, 5)):
        made = data_bytes(pick)["bytes"].encode("latin-1")
        if name.endswith(".gz"):
            import gzip

            made = gzip.compress(made, mtime=0)
        elif name.endswith(".zst"):
            import pyarrow as pa

            made = pa.compress(made, codec="zstd", asbytes=True)
        if pick.random() < 0.2 and made:
            made = made[: pick.randrange(len(made))]
        files[name] = made.decode("latin-1")
    links = {"link": pick.choice(("a.jsonl", ".", "link", "nowhere", "/dev/null"))} if pick.random() < 0.3 else {}
    return {
        "files": files,
        "links": links,
        "asked": pick.choice(ASKED),
        "split": pick.choice((None, None, "test", text(pick))),
    }


COMMAND_WORDS = {
    "show": ("--format json", "--format json --explain", "--view columns", "--view text", "--shift"),
    "check": (
        "--format json",
        "--format sarif",
        "--format junit",
        "--format github",
        "--format text",
        "--baseline base.json --write-baseline",
        "--eval data.jsonl",
        "--sample 1",
        "--format json --where turns>0",
        "--format json --where finding()",
    ),
    "report": ("--force --jobs 1",),
    "encode": ("-o -", "-o - --explain", "-o - --where len(text)>3", "-o out.jsonl --force", "-o out.parquet --force"),
    "export": tuple(
        f"--to {name} -o out --force"
        for name in ("recipe", "preprocess", "trl", "axolotl", "llamafactory", "torchtune", "unsloth")
    ),
    "repair": (
        "--apply trim,map-roles -o -",
        "--apply deduplicate -o fixed.jsonl --force",
        "--drop empty,no-answer,ROW,INJ -o -",
        "--where trained<1 -o -",
        "--list",
    ),
    "convert": (
        "-o -",
        "-o new.jsonl --force",
        "--drop unreadable --apply trim -o new.jsonl --force",
        "--for trl --without text,images --drop unreadable -o new.jsonl --force",
    ),
    "template": ("", "--add-generation-tags"),
    "compare": ("--with trl", "--with axolotl", "--with manual-shift"),
}


def command(pick: Random) -> dict[str, Any]:
    """A whole command on a file of a few rows: {command, words, rows, preset by number}."""
    name = pick.choice(sorted(COMMAND_WORDS))
    return {
        "command": name,
        "words": pick.choice(COMMAND_WORDS[name]).split(),
        "rows": [row(pick) for _ in range(pick.randint(1, 4))],
        "preset": pick.randrange(1000),
    }
