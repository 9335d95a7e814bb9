"""Odd rows through a real trainer and through sftui: `python fuzz_rows.py TRAINER[@VERSION] [--rows N] [--seed S]`.

Each input is one to three rows with one kind of oddness, a template, and settings of the trainer; the trainer reads
them in its own environment. What differs is kept as JSON lines (rows, settings, both outcomes) under
`$SFTUI_PARITY_HOME/fuzz`; the seed and number name an input again. Stops are compared as stops, kept rows by ids and
labels, dropped rows as dropped; where sftui says that it does not know, that is counted apart.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import environments
import record as recorder
from case import Case, home
from compare import judge
from emulate import emulate
from trainers.torchtune import cases as tune

from sftui.trainers.verify.session import read_result

Row = dict[str, Any]
Chance = random.Random

TEXTS = (
    "Why?",
    "",
    " ",
    "Çok güzel 🦊",
    "ab",
    "Say it.\n\n",
    " <|im_end|> ",
    "{{content}}",
    "[[dummy]]",
    "null",
    "x" * 40,
)
ODD: Sequence[Any] = (
    None,
    0,
    1,
    True,
    False,
    2.5,
    "",
    "ab",
    "abc",
    [],
    ["a"],
    ["a", "b"],
    {},
    {"a": "b"},
    {"a": 1, "b": 2},
)
ROLES = ("user", "assistant", "system", "tool", "human", "gpt", "function", "observation", "", None, 7)
TEMPLATES = (
    None,
    "own:chatml",
    "own:llama3",
    "own:gemma",
    "{% for m in messages %}{{ m['role'] ~ ': ' ~ m['content'] ~ '\n' }}{% endfor %}{{ eos_token }}",
    "{{ bos_token }}{% for m in messages %}{{ m.role }}|{{ m.content | trim }}{{ eos_token }}{% endfor %}"
    "{% if add_generation_prompt %}assistant|{% endif %}",
    "{% for m in messages %}{% if m.role == 'assistant' %}A: {% generation %}{{ m.content }}{{ eos_token }}"
    "{% endgeneration %}{% else %}Q: {{ m.content }}\n{% endif %}{% endfor %}",
    "{% for m in messages %}{% if loop.index0 % 2 != (m.role == 'assistant') | int %}{{ raise_exception('order') }}"
    "{% endif %}<{{ m.role }}>{{ m.content }}</{{ m.role }}>{% endfor %}",
)


UNKNOWN = ("sftui does not model", "changes from run to run")
"""What sftui says where it does not know: such a row is neither equal nor different."""


@dataclass(frozen=True)
class Odd(Case):
    """A case whose rows are its own."""

    rows: Sequence[Row] = ()

    def data_path(self) -> Path:
        path = home() / "fuzz" / "data" / f"{self.name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in self.rows), encoding="utf-8")
        return path


def text(chance: Chance) -> str:
    return chance.choice(TEXTS)


def value(chance: Chance, odd: float = 0.5) -> Any:
    return chance.choice(ODD) if chance.random() < odd else text(chance)


def turns(chance: Chance, role: str, content: str, names: Sequence[str]) -> Any:
    """Messages, mostly alternating, with odd roles, contents and shapes here and there."""
    made: list[Any] = []
    for number in range(chance.choice((1, 2, 2, 2, 3, 4, 4))):
        turn: Row = {role: names[number % 2], content: text(chance)}
        what = chance.random()
        if what < 0.12:
            turn[content] = chance.choice(ODD)
        elif what < 0.22:
            turn[role] = chance.choice(ROLES)
        elif what < 0.27:
            turn.pop(chance.choice((role, content)))
        elif what < 0.32:
            turn["extra"] = chance.choice(ODD)
        elif what < 0.36:
            turn[content] = [{"type": "text", "text": text(chance)}]
        elif what < 0.38:
            made.append(chance.choice(ODD))
            continue
        made.append(turn)
    if chance.random() < 0.15:
        made.insert(0, {role: "system", content: value(chance, 0.3)})
    return chance.choice((*ODD, json.dumps(made))) if chance.random() < 0.06 else made


def columns(chance: Chance, names: Sequence[str], odd: float = 0.15) -> Row:
    """A row of texts in these columns, some odd, some missing."""
    row = {name: value(chance, 0.9) if chance.random() < odd else text(chance) for name in names}
    if chance.random() < 0.05 and row:
        row.pop(chance.choice(list(row)))
    return row


def alpaca(chance: Chance) -> Row:
    row = columns(chance, ("instruction", "input", "output"))
    if chance.random() < 0.2:
        row["system"] = value(chance)
    return row


def strings(chance: Chance) -> Row:
    return columns(chance, ("prompt", "completion"))


def plain(chance: Chance) -> Row:
    return columns(chance, ("text",), 0.2)


def messages(chance: Chance) -> Row:
    row = {"messages": turns(chance, "role", "content", ("user", "assistant"))}
    if chance.random() < 0.1:
        row["tools"] = value(chance, 0.9)
    return row


def sharegpt(chance: Chance) -> Row:
    row = {"conversations": turns(chance, "from", "value", ("human", "gpt"))}
    if chance.random() < 0.1:
        row["system"] = value(chance)
    return row


def completion(chance: Chance) -> Row:
    both = turns(chance, "role", "content", ("user", "assistant"))
    cut = len(both) - 1 if isinstance(both, list) and both else 0
    return (
        {"prompt": both[:cut], "completion": both[cut:]}
        if isinstance(both, list)
        else {"prompt": both, "completion": both}
    )


def history(chance: Chance) -> Row:
    pair = chance.choice(
        (
            lambda: [text(chance), text(chance)],
            lambda: {"q": text(chance), "a": text(chance)},
            lambda: {"role": "user", "content": text(chance)},
            lambda: {"a": 1},
            lambda: {"q": "x", "a": "y", "z": "w"},
            lambda: chance.choice(("ab", "é🦊", "a", "abc", "")),
            lambda: [text(chance)],
            lambda: [text(chance)] * 3,
            lambda: [text(chance), None],
            lambda: chance.choice(ODD),
        )
    )
    held = [pair() for _ in range(chance.randint(0, 3))]
    return {**alpaca(chance), "history": chance.choice(ODD) if chance.random() < 0.1 else held}


Make = Callable[[Chance], Row]


@dataclass(frozen=True)
class Kind:
    """A shape of rows with the settings under which the trainer reads it."""

    make: Make
    dataset: Mapping[str, Any] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)
    knobs: Sequence[Mapping[str, Any]] = ({},)
    templates: Sequence[str | None] = TEMPLATES
    tokenizers: Sequence[str] = ("own:chatml", "own:llama3")


OPENAI_TAGS = {
    "role_tag": "role",
    "content_tag": "content",
    "user_tag": "user",
    "assistant_tag": "assistant",
    "system_tag": "system",
}
FACTORY: dict[str, Any] = {
    "knobs": [
        {"template": name, **more}
        for name in ("qwen", "llama3", "chatml", "default", "alpaca", "mistral", "qwen3")
        for more in ({}, {"mask_history": True}, {"train_on_prompt": True}, {"cutoff_len": 24})
    ],
    "templates": (None,),
}
TUNE: dict[str, Any] = {
    "knobs": [
        {"tokenizer": {"_component_": component, **more}}
        for component in ("torchtune.models.qwen2_5.qwen2_5_tokenizer", "torchtune.models.qwen2.qwen2_tokenizer")
        for more in ({}, {"max_seq_len": 24})
    ],
    "templates": (None,),
    "tokenizers": ("own:chatml", "minimind"),
}
MARKED = {"instruction_part": "<|im_start|>user\n", "response_part": "<|im_start|>assistant\n"}
TRL_KNOBS: Sequence[Mapping[str, Any]] = (
    {},
    {"max_length": 24},
    {"assistant_only_loss": True},
    {"completion_only_loss": False},
)
AXOLOTL: dict[str, Any] = {
    "knobs": [
        {"sequence_len": 256, **more}
        for more in (
            {},
            {"sequence_len": 24},
            {"train_on_inputs": True},
            {"excess_length_strategy": "truncate", "sequence_len": 24},
        )
    ]
}
KINDS: Mapping[str, Sequence[Kind]] = {
    "llamafactory": (
        Kind(alpaca, {}, **FACTORY),
        Kind(
            alpaca,
            {"columns": {"prompt": "instruction", "query": "input", "response": "output", "system": "system"}},
            **FACTORY,
        ),
        Kind(
            history,
            {"columns": {"prompt": "instruction", "query": "input", "response": "output", "history": "history"}},
            **FACTORY,
        ),
        Kind(messages, {"formatting": "sharegpt", "columns": {"messages": "messages"}, "tags": OPENAI_TAGS}, **FACTORY),
        Kind(sharegpt, {"formatting": "sharegpt", "columns": {"messages": "conversations"}}, **FACTORY),
        Kind(
            messages,
            {
                "formatting": "openai",
                "columns": {"messages": "messages"},
                "tags": {**OPENAI_TAGS, "observation_tag": "tool", "function_tag": "function_call"},
            },
            **FACTORY,
        ),
    ),
    "trl": tuple(Kind(make, knobs=TRL_KNOBS) for make in (messages, strings, plain, completion, sharegpt)),
    "axolotl": (
        Kind(messages, {"type": "chat_template"}, **AXOLOTL),
        Kind(
            sharegpt,
            {
                "type": "chat_template",
                "field_messages": "conversations",
                "message_property_mappings": {"role": "from", "content": "value"},
            },
            **AXOLOTL,
        ),
        Kind(alpaca, {"type": "alpaca"}, **AXOLOTL),
        Kind(plain, {"type": "completion"}, **AXOLOTL),
    ),
    "unsloth": (
        Kind(messages, {"text_from": "messages", "responses": MARKED}, knobs=({"max_length": 256}, {"max_length": 24})),
        Kind(messages, {"text_from": "messages", "responses": {}}, knobs=({"max_length": 256}, {"max_length": 24})),
        Kind(messages, {}, knobs=({"max_length": 256}, {"max_length": 24})),
        Kind(strings, {}, knobs=({"max_length": 256}, {"max_length": 24})),
        Kind(plain, {}, knobs=({"max_length": 256}, {"max_length": 24})),
        Kind(completion, {}, knobs=({"max_length": 256}, {"max_length": 24})),
    ),
    "torchtune": (
        Kind(messages, tune.CHAT, **TUNE),
        Kind(sharegpt, tune.SHAREGPT, **TUNE),
        Kind(alpaca, {"_component_": "torchtune.datasets.alpaca_dataset"}, **TUNE),
        Kind(
            strings,
            {
                "_component_": "torchtune.datasets.instruct_dataset",
                "column_map": {"input": "prompt", "output": "completion"},
            },
            **TUNE,
        ),
        Kind(plain, {"_component_": "torchtune.datasets.text_completion_dataset", "column": "text"}, **TUNE),
    ),
}


def inputs(trainer: str, seed: int, rows: int) -> list[Odd]:
    """Inputs until they hold so many rows, the same for the same seed."""
    made: list[Odd] = []
    count = number = 0
    while count < rows:
        chance = random.Random(f"{trainer} {seed} {number}")
        kind = chance.choice(KINDS[trainer])
        held = tuple(kind.make(chance) for _ in range(chance.choice((1, 1, 1, 2, 3))))
        made.append(
            Odd(
                f"{trainer}-{seed}-{number}",
                "",
                chance.choice(kind.tokenizers),
                {**kind.config, **chance.choice(kind.knobs)},
                chance.choice(kind.templates),
                dataset=kind.dataset,
                batch={"size": 2, "count": 1},
                rows=held,
            )
        )
        count, number = count + len(held), number + 1
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trainer", help="trainer or trainer@version")
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, nargs="*", help="numbers of inputs")
    parser.add_argument("--again", action="store_true", help="ask sftui again only, with the outcomes that are there")
    options = parser.parse_args(arguments)
    trainer, version = environments.split(options.trainer)
    asked = inputs(trainer, options.seed, options.rows)
    if options.only is not None:
        asked = [asked[number] for number in options.only]
    results = home() / "fuzz" / f"{trainer}-{version}"
    paths = [results / f"{case.name}.jsonl" for case in asked]
    if not options.again:
        requests = [case.request(path) for case, path in zip(asked, paths)]
        for _ in recorder.ask(trainer, version, requests):
            pass
    equal = unknown = total = 0
    told: list[str] = []
    stops: Counter[str] = Counter()
    for case, path in zip(asked, paths):
        if not path.exists():
            continue
        head, records = read_result(path)
        ours = emulate(trainer, version, case, mode="provisional")
        one = judge(trainer, case, head, records, ours)
        said = [ours.refused] if ours.refused else list(ours.problems.values())
        if head["error"] is None and said:
            one.differences.append(f"sftui stops, {trainer} does not: {said[0]}")
        stops[head["error"]["type"] if head["error"] else ""] += 1
        total += len(case.rows)
        if one.differences and any(words in text for text in said for words in UNKNOWN):
            unknown += len(case.rows)
            continue
        equal += len(case.rows) if not one.differences else 0
        if one.differences:
            error = head["error"] and f"{head['error']['type']}: {head['error']['message'][:200]}"
            told.append(
                json.dumps(
                    {
                        "case": case.name,
                        "differences": one.differences[:3],
                        "error": error,
                        "kept": head["kept"],
                        "rows": list(case.rows),
                        "dataset": case.dataset,
                        "config": case.config,
                        "template": case.template,
                        "tokenizer": case.tokenizer,
                    },
                    ensure_ascii=False,
                )
            )
    out = home() / "fuzz" / f"{trainer}-{version}-{options.seed}.jsonl"
    out.write_text("\n".join(told) + "\n", encoding="utf-8")
    counts = f"{equal} of {total} rows in {len(asked)} inputs equal, {unknown} told as not known"
    print(f"{trainer} {version}, seed {options.seed}: {counts}; {out}")
    print("the trainer's errors:", ", ".join(f"{name or 'none'} {count}" for name, count in stops.most_common()))
    return int(bool(told))


if __name__ == "__main__":
    sys.exit(main())
