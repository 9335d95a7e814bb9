"""A fourth round, of tokenizers and datasets that none of the rules was written for.

Tokenizers differ in what stands beside the ids: templates by name and in files of their own, an EOS that is a piece of
the vocabulary, or none, several tokens at the end, added tokens that are normalized, texts that normalizers shorten.
Templates look at the messages around one, at keys that are null, at calls without arguments, and at who answers next.
Rows hold nulls wherever a file of one type for each place puts them, calls without arguments, systems in the middle,
thoughts that are not closed, keys of images without any, and texts of nothing.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import new_material as first

Rows = list[dict[str, Any]]

NOTHING = ("", " ", "\n", "\t\n", "\u3000", "\u200b", "\u00a0", "\ufeff", "\r\n", "\x00")
CHARS = (
    "\x00", "a\x00b", "\ufffe", "\uffff", "\U0010ffff", "\ufffd", "\u0600x", "\u180e", "\u2060", "\ufe0f", "❤️", "1️⃣",
    "\U0001f468\u200d\U0001f4bb", "\u0958", "\u1e9b\u0323", "Ω", "K", "ſ", "ŉ", "ΐ", "\u1fb7", "ﬃ", "㍿", "㌀", "ｶﾞ",
    "à́",
    "ạ̈", "\u034f", "नमस्ते", "ກໍາ", "\u0e33", "한국어", "\u1112\u1161\u11ab", "\u061cعربي", "\u2067עב\u2069", "１２３",
    "٣٤", "Ⅷ", "𝟘𝟙", "\u2044", "…", "“q”", "—", "\ue000", "I\u0307", "ıI", "ẞ", "Σς", "\x1b[1m", "\x7f", "\x9f",
)  # fmt: skip


def text(r: random.Random, words: int = 6) -> str:
    """Words of the first round with rare characters at any place."""
    made = first.text(r, r.randint(1, words))
    for _ in range(r.choice((0, 0, 1, 1, 3))):
        at = r.randint(0, len(made))
        made = made[:at] + r.choice(CHARS) + made[at:]
    return made


def mostly(r: random.Random, blank: float = 0.1) -> str:
    return r.choice(NOTHING) if r.random() < blank else text(r, r.choice((2, 6, 20)))


def said(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def turns(r: random.Random, blank: float = 0.1) -> Rows:
    return [said(role, mostly(r, blank)) for _ in range(r.choice((1, 1, 2, 3))) for role in ("user", "assistant")]


def blank(r: random.Random) -> Rows:
    """Contents of nothing, or of white space alone, of every role."""
    found = []
    for _ in range(90):
        made = turns(r, 0.5)
        if r.random() < 0.4:
            made.insert(0, said("system", r.choice(NOTHING)))
        found.append({"messages": made})
    return found


def middle(r: random.Random) -> Rows:
    """Systems between the turns and at the end, turns that repeat a role, answers that begin."""
    found: Rows = []
    for _ in range(110):
        made = turns(r)
        for _ in range(r.choice((0, 1, 1, 2))):
            made.insert(r.randint(0, len(made)), said("system", text(r, 5)))
        if r.random() < 0.25:
            at = r.randrange(len(made))
            made.insert(at, dict(made[at]))
        if r.random() < 0.15:
            made = made[1:]
        found.append({"messages": made or [said("assistant", text(r))]})
    return found


def nulls(r: random.Random) -> Rows:
    """Every key that a file of one type for each place has, null where a row or a message does not bring it."""
    empty = {"name": None, "tool_calls": None, "tool_call_id": None, "reasoning_content": None, "weight": None}
    found = []
    for i in range(90):
        made = [{**one, **empty} for one in turns(r)]
        if i % 5 == 1:
            made[-1]["content"] = None
        if i % 7 == 2:
            made[-1]["reasoning_content"] = r.choice(("", " ", text(r)))
        if i % 9 == 3:
            made[0]["name"] = "someone"
        beside = {"id": i, "source": None, "system": None, "tools": None, "images": None, "score": None}
        found.append({"messages": made, **beside})
    return found


def thoughts(r: random.Random) -> Rows:
    """Thoughts in the text that are not closed, not opened, doubled, of nothing, or the user's."""
    shapes = (
        "<think>{0}</think>{1}", "<think>\n{0}\n</think>\n\n{1}", "<think>{0}", "{0}</think>{1}", "<think></think>{1}",
        "<think>\n\n</think>\n\n{1}", "{1}<think>{0}</think>", "<think>{0}<think>{1}</think>", "{1}",
        "<think>{0}</think></think>{1}", " <think>\n{0}\n</think>\n{1}\n", "<think>{0}</think>", "</think>",
    )  # fmt: skip
    found = []
    for i in range(130):
        made = turns(r)
        for one in made:
            if one["role"] == "assistant" or i % 8 == 0:
                one["content"] = r.choice(shapes).format(mostly(r, 0.2), one["content"])
        if i % 6 == 0:
            made.insert(0, said("system", text(r, 4)))
        found.append({"messages": made})
    return found


def _called(name: str, number: int, **more: Any) -> dict[str, Any]:
    return {"id": f"c{number}", "type": "function", "function": {"name": name, **more}}


def calls(r: random.Random) -> Rows:
    """Calls whose arguments are JSON text, text of another kind, an empty text, or null."""
    given = (
        "{}",
        "",
        '{"city": "Bern"}',
        '{"city": "K\\u00f6ln", "n": 1.50}',
        '{"a": [1, {"b": null}]}',
        "Bern",
        "[1]",
    )
    found = []
    for i in range(100):
        several = [_called("look", n, arguments=r.choice(given)) for n in range(r.choice((1, 1, 2)))]
        content = r.choice(("", "", text(r, 4), " "))
        results = [r.choice(("", "{}", text(r, 4))) for _ in several]
        made = [
            said("user", mostly(r), tool_calls=None, tool_call_id=None),
            said("assistant", content, tool_calls=several, tool_call_id=None),
            *(said("tool", one, tool_calls=None, tool_call_id=f"c{n}") for n, one in enumerate(results)),
            said("assistant", mostly(r), tool_calls=[] if i % 4 == 0 else None, tool_call_id=None),
        ]  # fmt: skip
        found.append({"messages": made[: r.choice((2, 3, len(made), len(made)))]})
    return found


def bare_calls(r: random.Random) -> Rows:
    """Calls without arguments, and tools without parameters."""
    tool = {"type": "function", "function": {"name": "now", "description": "The time."}}
    found = []
    for i in range(60):
        made = [
            said("user", mostly(r)),
            {"role": "assistant", "content": "", "tool_calls": [_called("now", 0)]},
            said("tool", "12:00", tool_call_id="c0"),
            said("assistant", mostly(r)),
        ]
        found.append({"messages": made if i % 3 else made[:1] + made[3:], "tools": [tool] * (1 + i % 2)})
    return found


def images(r: random.Random) -> Rows:
    """A key of images without any, and the marks that stand for them in texts."""
    found = []
    for i in range(50):
        made = turns(r)
        if i % 3 == 0:
            made[0]["content"] = r.choice(("<image>", "<image>\n", "<|image_pad|> ", "<video>")) + made[0]["content"]
        found.append({"messages": made, "images": []})
    return found


def pictures(r: random.Random) -> Rows:
    """Some of these rows do bring an image."""
    return [{**row, "images": ["a.png"] if i % 5 == 0 else []} for i, row in enumerate(images(r))]


def parts(r: random.Random) -> Rows:
    """Contents of parts, with parts of other kinds that bring nothing, and texts of null."""

    def content() -> Rows:
        made: Rows = [{"type": "text", "text": r.choice((text(r, 4), "", " "))} for _ in range(r.randint(0, 3))]
        if r.random() < 0.1:
            made.insert(r.randint(0, len(made)), {"type": "image", "text": None})
        return made

    return [
        {"messages": [said(role, content()) for _ in range(r.choice((1, 1, 2))) for role in ("user", "assistant")]}
        for _ in range(80)
    ]  # fmt: skip


def kinds(r: random.Random) -> Rows:
    """Contents of every kind that JSON has, roles and keys of their own, and rows of other columns."""
    values: tuple[Any, ...] = (
        0, -1, 1.5, 1e300, True, False, None, [], {}, [1, 2], {"a": 1}, ["x"], [[]], "x", "", [{"type": "text"}],
        [{"text": "y"}], [None], {"text": "z"}, 10**30, -0.0,
    )  # fmt: skip
    found: Rows = [{"messages": turns(r)}]
    for value in values:
        found += [
            {"messages": [said("user", "q"), said("assistant", value)]},
            {"messages": [said("user", value), said("assistant", "a")]},
            {"messages": [said("user", "q", extra=value), said("assistant", "a", extra=value)], "more": value},
            {"messages": [said("user", "q"), said("assistant", "a", tool_calls=value)]},
            {"messages": [said("user", "q"), said("assistant", "a", reasoning_content=value)]},
            {"messages": turns(r), "tools": value},
            {"messages": value},
            {"messages": [value, said("assistant", "a")]},
            {"messages": [said("user", "q"), {"role": value, "content": "a"}]},
        ]
    return found


def questions(r: random.Random) -> Rows:
    """Prompts and completions that are blank, null, numbers, or lists; a key of tools beside them."""
    values: tuple[Any, ...] = (None, 0, 2.5, True, [], ["a", "b"], {}, {"a": 1}, "", " ", "\n")
    found: Rows = [{"prompt": mostly(r, 0.15), "completion": mostly(r, 0.15)} for _ in range(80)]
    for value in values:
        found += [{"prompt": value, "completion": "a"}, {"prompt": "q", "completion": value}]
        found.append({"prompt": "q", "completion": "a", "tools": value})
    return found


def asked(r: random.Random) -> Rows:
    """The same as texts alone, with a history of pairs and a system text."""
    return [
        {
            "query": mostly(r, 0.1),
            "response": mostly(r, 0.1),
            "history": [[mostly(r), mostly(r)] for _ in range(r.choice((0, 0, 1, 2)))],
            "system": r.choice((None, "", " ", text(r, 4))),
            "label": None,
        }
        for _ in range(90)
    ]


def trained(r: random.Random) -> Rows:
    """Messages that say whether they are trained, by several names."""
    found = []
    for _ in range(80):
        made = turns(r)
        for one in made:
            one["loss"] = r.choice((None, True, False)) if one["role"] == "assistant" else None
            one["train"], one["weight"] = r.choice((None, True, False)), r.choice((None, 0, 1))
        found.append({"messages": made})
    return found


def scaled(r: random.Random) -> Rows:
    """Messages with weights that are no round numbers."""
    found = []
    for _ in range(60):
        made = turns(r, 0)
        for one in made:
            weight = r.choice((0.0, -0.0, 0.1, 1 / 3, 1e-12, 2.50000000001, 1.0))
            one["loss_scale"] = weight if one["role"] == "assistant" else None
        found.append({"messages": made})
    return found


def texts(r: random.Random) -> Rows:
    """Texts with white space at both ends, and such as are nothing else."""
    return [
        {"text": r.choice((mostly(r, 0.3), r.choice(NOTHING) + text(r, 40) + r.choice(NOTHING)))} for _ in range(90)
    ]


def strings(r: random.Random) -> Rows:
    """Questions and answers with white space at the place where they meet."""
    return [
        {
            "question": mostly(r, 0.1) + r.choice(("", " ", "\n", "\u3000")),
            "answer": r.choice(("", " ", "\n", "\u00a0")) + mostly(r, 0.1),
            "context": r.choice(("", " ", text(r, 8))),
        }
        for _ in range(110)
    ]


def agents(r: random.Random) -> Rows:
    """ShareGPT's calls and their results, calls of no arguments, a call last, results without a call."""
    both = '[{"name": "now", "arguments": {}}, {"name": "look", "arguments": {"at": "ö"}}]'
    good = ('{"name": "now", "arguments": {}}', '{"name": "now"}', '{"name": "look", "arguments": "{}"}', both)
    every = (*good, "now", "")
    found = []
    for i in range(80):
        made: Rows = [{"from": "human", "value": mostly(r)}]
        for _ in range(r.choice((0, 1, 1, 2))):
            made += [{"from": "function_call", "value": r.choice(every if i % 5 == 0 else good)},
                     {"from": "observation", "value": r.choice(("", "{}", text(r, 3)))}]  # fmt: skip
        made.append({"from": "gpt", "value": mostly(r)})
        if i % 6 == 0:
            made = made[:-1]
        if i % 4 == 0:
            made.insert(0, {"from": "system", "value": mostly(r, 0.3)})
        tools = json.dumps([{"name": "now", "description": "", "parameters": {}}]) if i % 3 else r.choice(("", "[]"))
        found.append({"conversations": made, "tools": tools})
    return found


MARKS = (
    "<|user|>", "<|assistant|>", "<|end|>", "<eos>", "<s>", "</s>", "<|im_end|>", "<|im_start|>assistant\n",
    "<|eot_id|>", "<think>", "</think>", "[INST]", "[/INST]", "<unk>", "<pad>", "{{QUERY}}", "{{ messages }}",
    "{% if x %}", "<tool_call>", "</tool_response>", "<|endoftext|>", "<start_of_turn>model\n", "<image>",
    "Assistant:", "\nObservation:", "%s {0} $1",
)  # fmt: skip


def marks(r: random.Random) -> Rows:
    """Texts that hold the words of templates, their tokens and their placeholders, alone and beside letters."""
    found = []
    for _ in range(110):
        made = turns(r, 0)
        for one in made:
            at = r.randint(0, len(one["content"]))
            one["content"] = one["content"][:at] + "".join(r.choices(MARKS, k=r.randint(1, 2))) + one["content"][at:]
            if r.random() < 0.1:
                one["content"] = r.choice(MARKS)
        if r.random() < 0.3:
            made.insert(0, said("system", r.choice(MARKS) + text(r, 3)))
        found.append({"messages": made})
    return found


def roles(r: random.Random) -> Rows:
    """Roles that only some trainers or templates know, or that differ by a letter from one."""
    others = (
        "developer",
        "function",
        "ipython",
        "tool",
        "User",
        "assistant ",
        "observation",
        "human",
        "gpt",
        "",
        "model",
    )
    found = []
    for i in range(90):
        made = turns(r)
        for _ in range(r.choice((0, 1, 1, 2))):
            made.insert(r.randint(0, len(made)), said(r.choice(others), mostly(r)))
        if i % 10 == 0:
            made = [said(one["role"], one["content"], name=r.choice(("a", "", "Ünal"))) for one in made]
        found.append({"messages": made})
    return found


def arguments(r: random.Random) -> Rows:
    """Calls whose arguments are mappings of the same keys: small and large numbers, fractions, letters, lists."""
    names = ("z", "a", "Ключ", "deep")
    tool = {
        "type": "function",
        "function": {
            "name": "put",
            "description": "Puts <it> & 'that' \"there\" ö.",
            "parameters": {
                "type": "object",
                "properties": {"z": {"type": "number", "enum": [1, 2]}, "a": {"type": "string", "default": None}},
                "required": ["z"],
            },
        },
    }
    found = []
    for i in range(90):
        values = (
            r.choice((0, 7, -3, 2**53 + 1, 2**63 - 1)),
            mostly(r),
            r.choice((0.5, 1e-7, 1e22, -0.0, 3.0, 52.5200065999997, 1 / 3, 0.99999999999, -1e-12, 123456789.123456789)),
            {"list": [text(r, 2) for _ in range(r.randint(0, 2))], "on": r.random() < 0.5},
        )
        called = {"id": f"c{i}", "type": "function", "function": {"name": "put", "arguments": dict(zip(names, values))}}
        empty = {"tool_calls": None, "tool_call_id": None}
        made = [
            said("user", mostly(r), **empty),
            said("assistant", r.choice(("", text(r, 3))), tool_calls=[called], tool_call_id=None),
            said("tool", r.choice(("", "{}", text(r, 3))), tool_calls=None, tool_call_id=f"c{i}"),
            said("assistant", mostly(r), **empty),
        ]
        found.append({"messages": made[: r.choice((2, 4, 4))], "tools": [tool] * r.choice((1, 1, 2))})
    return found


def schemas(r: random.Random) -> Rows:
    """Tools as JSON text of several spellings, and such as are no list or no JSON."""
    numbers = '{"n": 1.50, "m": 0.12345678901}'
    about = '{"type": "function", "function": {"name": "now", "description": "K\\u00f6ln"'
    one = about + f', "parameters": {numbers}}}}}'
    spelled = (f"[{one}]", f" [ {one} ,{one}]\n", one, "[]", "", " ", "null", "[null]", "{}", "now", '["now"]', "[1e3]")
    found = []
    for i in range(80):
        made = turns(r)
        if i % 3 == 0:
            made[-1:] = [
                said("tool_call", '{"name": "now", "arguments": {"n": 1.50}}'),
                said("tool", text(r, 3)),
                made[-1],
            ]
        found.append({"messages": made, "tools": r.choice(spelled)})
    return found


def numerals(r: random.Random) -> Rows:
    """Questions and answers that are numbers, dates or words that JSON or YAML read as something else."""
    words = (
        "2024-01-31",
        "1e5",
        "true",
        "null",
        "NaN",
        "007",
        "1_000",
        "12:30:00",
        "2024-01-31T12:30:00Z",
        "-0",
        "~",
        "[]",
    )
    return [
        {
            "question": r.choice(words),
            "answer": r.choice(words),
            "count": r.choice((0, 1, -5, 2**40)),
            "score": r.choice((0.0, 1.5, -2.25, 1e-9)),
        }
        for _ in range(90)
    ]


def dates(r: random.Random) -> Rows:
    """Dates alone, which readers of whole columns may take for such."""
    return [
        {
            "prompt": f"20{r.randint(10, 40)}-0{r.randint(1, 9)}-1{r.randint(0, 9)}",
            "completion": f"1999-12-{i % 20 + 10}",
        }
        for i in range(60)
    ]


def everything(r: random.Random) -> Rows:
    """Rows with the columns of several readings at once, some of them null."""
    return [
        {
            "text": text(r, 9),
            "prompt": mostly(r) if i % 4 else None,
            "completion": mostly(r) if i % 5 else None,
            "messages": turns(r) if i % 6 else None,
            "conversations": [{"from": "human", "value": text(r)}, {"from": "gpt", "value": text(r)}],
        }
        for i in range(70)
    ]


def shouted(r: random.Random) -> Rows:
    """Columns in other letters than they are read by, a history as text, and answers in lists."""
    return [
        {
            "Query": mostly(r, 0.05),
            "RESPONSE": [mostly(r, 0.05), text(r, 2)],
            "System_Prompt": r.choice((None, "", text(r, 4))),
            "history": repr([[text(r, 2), text(r, 2)]] * r.choice((0, 0, 1, 2))),
            "source": "made",
        }
        for _ in range(80)
    ]


def paired(r: random.Random) -> Rows:
    """Conversations of one mapping a round, with a system text beside them."""
    return [
        {
            "conversation": [{"human": mostly(r), "assistant": mostly(r)} for _ in range(r.choice((1, 1, 2, 4)))],
            "system": r.choice((None, "", text(r, 4))),
        }
        for _ in range(80)
    ]


def flags(r: random.Random) -> Rows:
    """Columns beside the messages that could say whether there are thoughts: whole numbers, truth, words."""
    return [
        {
            "messages": turns(r),
            "count": r.choice((0, 1, 2)),
            "on": r.random() < 0.5,
            "word": r.choice(("", "no", "yes")),
        }
        for _ in range(60)
    ]


def lengthy(r: random.Random) -> Rows:
    """Chats of which some are longer than every trainer's default."""
    found = []
    for i in range(60):
        made = turns(r, 0.05)
        for one in made:
            if r.random() < 0.4:
                one["content"] = first.text(r, r.choice((120, 400, 900)) if i % 3 else 40)
        found.append({"messages": made})
    return found


DATASETS: Mapping[str, Callable[[random.Random], Rows]] = {
    "blank": blank,
    "middle": middle,
    "nulls": nulls,
    "thoughts": thoughts,
    "calls": calls,
    "bare_calls": bare_calls,
    "images": images,
    "pictures": pictures,
    "parts": parts,
    "kinds": kinds,
    "questions": questions,
    "asked": asked,
    "trained": trained,
    "scaled": scaled,
    "texts": texts,
    "strings": strings,
    "agents": agents,
    "marks": marks,
    "roles": roles,
    "arguments": arguments,
    "schemas": schemas,
    "numerals": numerals,
    "dates": dates,
    "everything": everything,
    "shouted": shouted,
    "paired": paired,
    "flags": flags,
    "lengthy": lengthy,
}


def rows(name: str) -> Rows:
    """The rows of a dataset, the same each time."""
    return DATASETS[name](random.Random(f"sftui four {name}"))


ROLES = ("<|user|>", "<|assistant|>", "<|system|>", "<|tool|>", "<|end|>")
CALLS = (
    "{% for c in m.tool_calls or [] %}{% set f = c.function if c.function is defined else c %}<call>{{ f.name }}"
    "{% if f.arguments is defined and f.arguments is not none %}({{ f.arguments if f.arguments is string else"
    " f.arguments | tojson(indent=2) }}){% endif %}</call>{% endfor %}"
)
WORDS = (
    "{% macro words(content) %}{% if content is string %}{{ content }}"
    "{% elif content is none or content is undefined %}"
    "{% elif content is mapping %}{{ content | tojson }}{% elif content is iterable %}{% for p in content %}"
    "{% if p is mapping and p.type == 'image' %}<|image|>{% elif p is mapping %}{{ p.text or '' }}{% else %}{{ p }}"
    "{% endif %}{% endfor %}{% else %}{{ content }}{% endif %}{% endmacro %}"
)
AROUND = (
    "{% set ns = namespace(last=-1, n=0) %}{% for m in messages %}{% if m.role == 'user' %}"
    "{% set ns.last = loop.index0 %}{% endif %}{% endfor %}"
    + WORDS
    + "{%- if tools %}<|system|>{{ tools | tojson }}<|end|>{% endif -%}"
    "{% for m in messages %}{% if loop.first or loop.previtem.role != m.role %}<|{{ m.role }}|>{% else %}\n{% endif %}"
    "{% if m.role == 'assistant' and '</think>' in words(m.content) and loop.index0 < ns.last %}"
    "{{ words(m.content).split('</think>')[-1].lstrip('\\n') }}{% else %}{{ words(m.content) | trim }}{% endif %}"
    + CALLS
    + "{% if loop.last or loop.nextitem.role != m.role %}<|end|>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
"""A template that writes the same role's messages as one, and leaves earlier thoughts out."""
MERGED = (
    "{{ bos_token }}{% set system = '' %}{% if messages[0].role == 'system' %}"
    "{% set system = messages[0].content ~ '\n\n' %}"
    "{% set messages = messages[1:] %}{% endif %}{% for m in messages %}{% if m.role == 'system' %}"
    "{{ raise_exception('System message must be first') }}{% elif m.role == 'user' %}"
    "{{ '[INST] ' ~ (system if loop.index0 == 0 else '') ~ m.content | trim ~ ' [/INST]' }}"
    "{% else %}{{ ' ' ~ m.content | trim ~ eos_token }}{% endif %}{% endfor %}"
)
"""A template that puts the system text into the first question, and refuses a later one."""
OPENED = (
    WORDS + "{% for m in messages %}<|{{ m.role }}|>{% if m.role == 'assistant' %}{% if m.reasoning_content %}<think>"
    "{{ m.reasoning_content | trim }}</think>{% endif %}{% generation %}{{ words(m.content) }}"
    + CALLS
    + "<|end|>{% endgeneration %}{% else %}{{ words(m.content) }}<|end|>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>"
    "{{ '<think>' if enable_thinking | default(true) else '<think></think>' }}"
    "{% endif %}"
)
"""A template whose next answer begins with a thought, and that tags what follows one."""
NAMED = "{% for m in messages %}{{ m.role[:1] | upper }}:{{ m.content }}{{ eos_token }}{% endfor %}"
TOOL_USE = "{{ tools | length }}" + AROUND
CAPITALS = (
    "{% for m in messages %}{{ '\n' if not loop.first }}{{ (m.name or m.role) | title }}: {{ m.content or '' }}"
    "{% endfor %}{{ eos_token or '' }}{% if add_generation_prompt %}{{ '\nAssistant:' }}{% endif %}"
)
"""A template without marks, whose end stands behind the whole."""


def _made(name: str) -> tuple[Any, dict[str, Any], dict[str, str]]:
    """The backend of a tokenizer, its tokenizer_config.json, and texts of more files."""
    from tokenizers import (
        AddedToken,
        Regex,
        Tokenizer,
        decoders,
        models,
        normalizers,
        pre_tokenizers,
        processors,
        trainers,
    )

    byte = first._bytes
    if name == "named":  # a template for tools by its name
        backend = first._special(byte(800, split=first.QWEN), "<eos>", "<pad>", *ROLES)
        token = {"__type": "AddedToken", "content": "<eos>", "lstrip": False, "normalized": False, "rstrip": False}
        templates = [{"name": "default", "template": NAMED}, {"name": "tool_use", "template": TOOL_USE}]
        return (
            backend,
            {"eos_token": {**token, "single_word": False}, "pad_token": "<pad>", "chat_template": templates},
            {},
        )
    if name == "filed":  # templates in files; the config has another one
        backend = first._special(byte(750), "<eos>", *ROLES)
        files = {"chat_template.jinja": AROUND, "additional_chat_templates/tool_use.jinja": TOOL_USE}
        return backend, {"eos_token": "<eos>", "pad_token": "<eos>", "chat_template": NAMED}, files
    if name == "prepended":  # SentencePiece's beginnings by a normalizer
        backend = first._bpe(
            1000,
            pre_tokenizers.Split("▁", "merged_with_next"),
            decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]),
            normalizer=normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]),
            fallback=True,
        )
        backend = Tokenizer.from_str(json.dumps({**json.loads(backend.to_str()), "pre_tokenizer": None}))
        first._special(backend, "<s>", "</s>")
        first._around(backend, "<s>", None)
        return backend, {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "chat_template": MERGED}, {}
    if name == "shortened":  # a normalizer that takes characters away
        steps = [normalizers.NFKC(), normalizers.Strip(), normalizers.Replace(Regex(r"\s{2,}"), " "),
                 normalizers.Replace(Regex("[\u200b\u00ad\ufeff]"), ""), normalizers.Lowercase()]  # fmt: skip
        backend = first._special(byte(900, normalizer=normalizers.Sequence(steps)), "<eos>", "<pad>", *ROLES)
        return backend, {"eos_token": "<eos>", "pad_token": "<pad>", "chat_template": AROUND}, {}
    if name == "opened":  # has the tags of thoughts, and answers begin with one
        backend = first._special(byte(900, split=first.QWEN), "<eos>", "<pad>", *ROLES)
        backend.add_tokens([AddedToken("<think>", normalized=False), AddedToken("</think>", normalized=False)])
        return backend, {"eos_token": "<|end|>", "pad_token": "<pad>", "chat_template": OPENED}, {}
    if name == "two_ends":  # the post-processor ends with two tokens, the second of them EOS
        backend = first._special(byte(700, prefix=True), "<bos>", "<sep>", "<eos>", *ROLES)
        ids = [(one, backend.token_to_id(one)) for one in ("<bos>", "<sep>", "<eos>")]
        backend.post_processor = processors.Sequence(
            [
                processors.ByteLevel(trim_offsets=False),
                processors.TemplateProcessing("<bos> $A <sep> <eos>", special_tokens=ids),
            ]
        )
        return backend, {"bos_token": "<bos>", "eos_token": "<eos>", "pad_token": "<sep>", "chat_template": AROUND}, {}
    if name == "endless":  # neither BOS nor EOS nor pad
        return first._special(byte(650, digits=True), *ROLES), {"chat_template": CAPITALS}, {}
    if name == "piece_end":  # EOS and pad are pieces of the vocabulary, which texts hold as well
        backend = first._special(byte(800), *ROLES)
        return backend, {"eos_token": "time", "pad_token": "!", "chat_template": CAPITALS}, {}
    if name == "normal_marks":  # added tokens that are normalized, whole words, and take spaces
        backend = byte(900, normalizer=normalizers.Sequence([normalizers.NFD(), normalizers.Lowercase()]))
        backend.add_special_tokens([AddedToken(one, special=True, normalized=True) for one in ("<eos>", *ROLES)])
        backend.add_tokens(
            [AddedToken("İSTANBUL", normalized=True), AddedToken("Year", single_word=True, normalized=True),
             AddedToken("  ", normalized=False), AddedToken("\n\n", normalized=False), AddedToken("é", rstrip=True)]
        )  # fmt: skip
        config = {"eos_token": "<eos>", "pad_token": "<|end|>", "padding_side": "left"}
        return backend, {**config, "chat_template": AROUND}, {}
    assert name == "unknown", name  # characters that it does not know are one token, fused or left out
    backend = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True))
    backend.pre_tokenizer, backend.decoder = pre_tokenizers.WhitespaceSplit(), decoders.Fuse()
    backend.train_from_iterator(
        (one for i, one in enumerate(first.corpus()) if i % 3 == 0),
        trainers.BpeTrainer(
            vocab_size=600, limit_alphabet=80, special_tokens=["<unk>", "<eos>", "<cls>"], show_progress=False
        ),
    )
    first._special(backend, *ROLES)
    first._around(backend, "<cls>", "<eos>")
    config = {"bos_token": "<cls>", "eos_token": "<eos>", "unk_token": "<unk>", "pad_token": "<unk>"}
    return backend, {**config, "chat_template": AROUND, "truncation_side": "left"}, {}


TOKENIZERS = (
    *("named", "filed", "prepended", "shortened", "opened", "two_ends", "endless", "piece_end", "normal_marks"),
    "unknown",
)


def tokenizer(name: str, folder: Path) -> None:
    """Train a tokenizer and write its files."""
    backend, config, more = _made(name)
    folder.mkdir(parents=True, exist_ok=True)
    backend.save(str(folder / "tokenizer.json"))
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 8192, **config}
    (folder / "tokenizer_config.json").write_text(json.dumps(config, ensure_ascii=False, indent=1), encoding="utf-8")
    for file, held in more.items():
        (folder / file).parent.mkdir(exist_ok=True)
        (folder / file).write_text(held, encoding="utf-8")
