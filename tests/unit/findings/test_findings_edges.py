"""Where detectors stop: cases on either side of a border that a code once drew at the wrong place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from case_runner import open_case, run, tokenizer_of

from sftui.findings import CODES, Severity, check_row
from sftui.findings.look import RowLook
from sftui.findings.rule import CALLING, GOOD, IDS, SAMPLED, STORED, Case, case, chat, chatml, stored_case
from sftui.findings.rules.content import _mojibake
from sftui.findings.rules.eos import trained_ends
from sftui.findings.rules.headers import header_inside
from sftui.findings.rules.marks import _stretches
from sftui.findings.rules.packing import _whole
from sftui.findings.rules.roles import nearest_role
from sftui.findings.rules.rows import _doubled, _holds_data
from sftui.findings.rules.unread import _is_pictures, _names_images
from sftui.findings.words import walk
from sftui.model import Conversation, Example, Kind, Message

PAD, EOS = tokenizer_of("chatml").facts.pad_id or 0, tokenizer_of("chatml").facts.eos_id or 0
OPEN = [one for one in IDS if one != EOS]
LONG = OPEN * 20
NEWLINE = tokenizer_of("chatml").encode("\n").ids[0]
NO_ARGUMENTS = chatml(
    "{% for c in m.tool_calls %}CALL {{ c.function.name }}{% endfor %}{{ m.content }}<|im_end|>",
    before="{% if tools %}{{ tools | tojson }}{% endif %}",
)
OF_PARTS = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' }}{% if m.content is string %}{{ m.content }}{% else %}{%"
    " for p in m.content %}{{ p.text }}{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
)
KEYS_ONLY = chatml(
    "{% for c in m.tool_calls %}{{ c.function.name }}{{ c.function.arguments.keys() | list }}{% endfor %}{{ m.content"
    " }}<|im_end|>"
)
IN_XML = chatml(
    "{% for c in m.tool_calls %}<{{ c.function.name }}>{% for k, v in c.function.arguments.items() %}<{{ k }}>{{ v"
    " }}</{{ k }}>{% endfor %}{% endfor %}{{ m.content }}<|im_end|>"
)


def call(arguments: Any, id: str | None = None) -> dict[str, Any]:  # noqa: A002 (the key's name)
    one = {"type": "function", "function": {"name": "get_weather", "arguments": arguments}}
    return {"role": "assistant", "content": "", "tool_calls": [{"id": id, **one} if id else one]}


def result(id: str, text: str = "sunny and warm") -> dict[str, Any]:  # noqa: A002
    return {"role": "tool", "content": text, "tool_call_id": id}


def schema(**properties: Any) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "The weather.",
            "parameters": {"type": "object", "properties": properties},
        },
    }


def stored(ids: list[int], labels: list[int], attention: list[int] | None = None, **changes: Any) -> Case:
    row = {"input_ids": ids, "labels": labels} | ({"attention_mask": attention} if attention else {})
    return case(
        row, changes={"mask.rule": "given", **{name.replace("__", "."): value for name, value in changes.items()}}
    )


def said(answer: Any, **more: Any) -> Case:
    return case(GOOD, chat("hi", {"role": "assistant", "content": answer, **more}))


def marked(row: dict[str, Any], limit: int) -> Case:
    bad = CODES["BND011"].bad
    return replace(bad, rows=(row,), changes={**bad.changes, "length.max": limit})


BY_LINE = (
    "{% for m in messages %}{% if m.role == 'user' %}{{ 'Q: ' + m.content + '\n' }}{% else %}{{ 'A: ' + m.content +"
    " '<|im_end|>' }}{% endif %}{% endfor %}"
)


def scanned(row: dict[str, Any], question: str) -> Case:
    """Unsloth's scan for `A: `, whose blank is a token of its own before a digit, and a part of one before a letter."""
    markers = {"mask.instruction_marker": question, "mask.response_marker": "A: ", "mask.rule": "markers"}
    return case(row, preset="unsloth@2026.10", template=BY_LINE, changes={**markers, "own.force_match": True})


def cut(limit: int) -> Case:
    """Two answers under Unsloth's markers of ChatML."""
    good = CODES["BND005"].good
    assert good is not None
    return replace(good, rows=(chat("hi", "Hello.", "Bye.", "Bye!"),), changes={**good.changes, "length.max": limit})


BOTH = case(chat("hi", "Hello.", "Bye.", "Bye!"), changes={"mask.rule": "assistant", "length.max": 40})
FLAGGED = chat("hi", {"role": "assistant", "content": "Hm.", "trainable": False}, "hi?", "Hello.")
UNFLAGGED: Mapping[str, Mapping[str, Any]] = {
    "mlx-lm@0.32": {},
    "ms-swift@4.6": {"render.template": "ms-swift/qwen2_5"},
    "torchtune@0.7": {},
    "trl@1.16": {},
}


def flagged(key: str, value: Any) -> dict[str, Any]:
    return chat("hi", {"role": "assistant", "content": "Hm.", key: value}, "hi?", "Hello.")


UNOPENED = chat("hi", "They greet me.</think>Hello.")
OPENING = chatml("{{ '<think>' if '</think>' in m.content and '<think>' not in m.content }}{{ m.content }}<|im_end|>")
CALLED = chat("hi", {**call({"city": "Oslo"}), "content": "Let me look."}, ("tool", "sunny"), ("assistant", "Sunny."))
OPENAI = {
    "own.formatting": "openai",
    "render.template": "llamafactory/qwen",
    "data.format": "messages",
    "data.fields": {"messages": "messages"},
    "data.message_keys": {"role": "role", "content": "content"},
    "data.role_map": {"user": "user", "assistant": "assistant", "tool": "observation", "function_call": "function"},
}


METEO = {"name": "météo", "arguments": '{"city": "Paris"}'}
LAST_ONLY = replace(CODES["BND011"].bad, changes={**CODES["BND011"].bad.changes, "mask.turns": "last"})

RAISED: dict[str, tuple[str, Case]] = {
    "a second answer behind the cut": ("TRU010", replace(BOTH, changes={**BOTH.changes, "length.max": 20})),
    "words that a converter puts a call in the place of": (
        "TPL015",
        case(CALLED, preset="llamafactory@0.9", changes=OPENAI),
    ),
    "a thought that only closes, as it stands": ("THK005", case(UNOPENED)),
    "a system text beside the messages": ("CON015", case({**GOOD, "system": "Be brief."})),
    "reasoning beside the messages": ("CON015", case({**GOOD, "reasoning": "They greet me."})),
    "columns of a reranker": ("CON015", case({**chat("hi"), "positives": ["Hello."]}, preset="trl@1.16")),
    **{
        f"a flag that {preset} does not read": ("LAB010", case(FLAGGED, preset=preset, changes={"batch.size": 1}))
        for preset in ("verl@0.9", "nemo-automodel@0.7", "torchtune@0.6", "torchtune@0.7")
    },
    **{
        f"`{key}`, which {preset} does not read": ("LAB010", case(flagged(key, value), preset=preset, changes=changes))
        for key, value in {"train": False, "step_loss_mask": 0, "loss_scale": 0, "masked": True}.items()
        for preset, changes in UNFLAGGED.items()
        if (preset, key) != ("ms-swift@4.6", "loss_scale")
    },
    "a marker that merges before an answer of which the first token is left": (
        "BND011",
        marked(chat("hi?", "No.", "f", "Yes."), 16),
    ),
    "a marker that merges before the last answer": (
        "BND011",
        replace(LAST_ONLY, rows=(chat("hi?", "No.", "f", "Yes."),)),
    ),
    "a marker that merges with the answer itself": ("BND011", scanned(chat("hi?", "1.", "so", "Yes."), "Q:")),
    "an answer that torchtune encodes behind its header": (
        "BND003",
        case(chat("hi", "\nHello."), preset="torchtune@0.7"),
    ),
    "a replacement character that BERT's normalizer removes": (
        "CON008",
        case(chat("hi you two", "the cat\ufffds paw"), tokenizer="cleans"),
    ),
    "a stop token in what a call is given": (
        "INJ001",
        case(chat("hi", call({"q": "x <|im_end|> y"}), result("a"), ("assistant", "Sunny.")), template=CALLING),
    ),
    "a stop token in a thought": (
        "INJ001",
        case(
            chat("hi", {"role": "assistant", "content": "Hello.", "reasoning_content": "so <|im_end|> ends"}),
            template=chatml("{{ m.reasoning_content }}{{ m.content }}<|im_end|>"),
        ),
    ),
    "a stop token in a part of content": (
        "INJ001",
        case(
            chat(("user", [{"type": "text", "text": "a <|im_end|> b"}]), ("assistant", "Hello.")),
            template=OF_PARTS,
        ),
    ),
    "a stop token in the tools": (
        "INJ001",
        case(
            chat("hi", "Hello.", tools=[schema(city={"type": "string", "description": 'ends with "<|im_end|>"'})]),
            template=CALLING,
        ),
    ),
    "an image in the tools": (
        "INJ002",
        case(
            chat("hi", "Hello.", tools=[schema(city={"type": "string", "description": "{type<image>|bold}"})]),
            tokenizer="media",
            template=CALLING,
        ),
    ),
    "padding hides that no stop ends the answer": (
        "EOS001",
        stored([*OPEN, PAD, PAD], [*OPEN, -100, -100], [1] * len(OPEN) + [0, 0]),
    ),
    "padding that is only known by its id": ("EOS001", stored([*OPEN, PAD, PAD], [*OPEN, -100, -100])),
    "attended padding that is trained": (
        "LAB007",
        stored([*IDS, PAD, PAD, PAD], [*IDS, PAD, PAD, PAD], [1] * (len(IDS) + 3)),
    ),
    "padding that is trained, without a mask": ("LAB007", stored([*IDS, PAD, PAD, PAD], [*IDS, PAD, PAD, PAD])),
    "a short question before a long answer": (
        "LAB002",
        case(chat("What is the capital of France, in one word?", "Paris it is. " * 900), changes={"mask.rule": "all"}),
    ),
    "a question of one token": ("LAB002", case(chat("hi", "Paris it is. " * 900), changes={"mask.rule": "all"})),
    "an orphan behind a sentence": ("THK005", said("They greet me. </think> Hello.")),
    "an orphan without blanks": ("THK005", said("4+4 is 8</think>8")),
    "an orphan at the start": ("THK005", said("</think>\n\nHello.")),
    "rows that differ in white space": (
        "DUP001",
        case(GOOD, chat("What is the capital of France? ", "Paris is the capital of France.\n")),
    ),
    "a result of a call that was never made, after one that was": (
        "TOO006",
        case(chat("hi", call({}, "a"), result("a"), result("zzz"), ("assistant", "Sunny.")), template=CALLING),
    ),
    "arguments that the template drops": (
        "TOO002",
        case(chat("hi", call({"city": "Paris"}), tools=[schema(city={"type": "string"})]), template=NO_ARGUMENTS),
    ),
    "arguments in JSON text that the template drops": (
        "TOO002",
        case(chat("hi", call('{"city": "Paris"}'), tools=[schema(city={"type": "string"})]), template=NO_ARGUMENTS),
    ),
    "a call that the template drops, whose name the list of tools has": (
        "TOO002",
        case(
            chat("hi", call({}), tools=[schema(city={"type": "string"})]),
            template=chatml(before="{% if tools %}{{ tools | tojson }}{% endif %}"),
        ),
    ),
    "two stops that are line breaks": (
        "EOS007",
        replace(
            stored([*OPEN, NEWLINE, NEWLINE], [*OPEN, NEWLINE, NEWLINE]), generation_config={"eos_token_id": [NEWLINE]}
        ),
    ),
    "a token that is the unknown one": (
        "TOK001",
        case(GOOD, facts={"unk_id": tokenizer_of("chatml").encode(" France").ids[0]}),
    ),
    "a broken call of a name that JSON may escape": (
        "TOO007",
        replace(
            CODES["TOO007"].bad,
            rows=[chat("hi", {"role": "assistant", "content": "", "tool_calls": [{"function": METEO}]})],
        ),
    ),
    "a second BOS, by what the first row begins with": (
        "BOS003",
        case(
            {"text": "Paris."},
            {"text": "<bos>Rome."},
            tokenizer="gemma",
            preset="unsloth@2026.10",
            facts={"chat_templates": {}},
        ),
    ),
    "no BOS, which the template alone prints": (
        "BOS002",
        case(GOOD, tokenizer="gemma", preset="manual-shift", facts={"adds_bos": False}),
    ),
    "the marker of questions that the trainer finds by itself, in a question": (
        "BND005",
        case(chat("say <|im_start|>user\nnow", "Hello."), preset="unsloth@2026.10", changes={"mask.rule": "markers"}),
    ),
    "an answer of one token whose stop is masked": (
        "EOS004",
        case(chat("hi", "Yes"), changes={"mask.rule": "assistant", "mask.terminator": "mask"}),
    ),
    "a second system message, where the template takes the first": (
        "TPL006",
        case(
            chat(("system", "Be kind."), ("user", "hi"), ("system", "Be brief."), ("assistant", "Hello.")),
            template=chatml(
                before="{% for m in messages[1:] if m.role == 'system' %}{{ raise_exception('not here') }}{% endfor %}"
            ),
        ),
    ),
    "an image in a part of text": (
        "INJ002",
        case(
            chat(("user", [{"type": "text", "text": "what is <image>?"}]), ("assistant", "A cat.")),
            tokenizer="media",
            template=OF_PARTS,
        ),
    ),
    "values that the template drops": (
        "TOO002",
        case(chat("Weather in Paris?", call({"city": "Paris"})), template=KEYS_ONLY),
    ),
    "null keys deep in arguments": (
        "CON009",
        case(
            chat("hi", call({"where": {"city": "Ulm", "zip": None, "lat": None, "lon": None}}), result("a")),
            template=CALLING,
        ),
    ),
    "null keys in the tools": (
        "CON009",
        case(
            chat("hi", "Hello.", tools=[schema(a={"type": "string", "enum": None, "items": None}, b=None)]),
            template=CALLING,
        ),
    ),
    "an answer of no parts": ("CON003", said([])),
    "an answer of an empty part": ("CON003", said([{"type": "text", "text": " "}])),
    "-1 at the front and a label out of range behind": (
        "LAB005",
        stored(IDS, [-1] * 10 + IDS[10:-1] + [999999], mask__ignore_index=-1),
    ),
    "-100 where the loss ignores -1": ("LAB005", stored(IDS, [-100] * 10 + IDS[10:], mask__ignore_index=-1)),
    "the length that Unsloth takes by itself": (
        "TRU005",
        case(chat("hi", "so it goes " * 1500), preset="unsloth@2026.10"),
    ),
    "a template that names a token the tokenizer lacks": (
        "TPL013",
        case(GOOD, template=chatml(before="{{ bos_token + 'x' }}"), facts={"bos_token": None}),
    ),
    "offsets that go backwards": ("GEN007", case(GOOD, edit="backwards")),
    "white space of an answer that the next token takes along": (
        "TOK002",
        case(chat("hi", "So it goes.  "), tokenizer="swallows"),
    ),
    "a stop of another family behind a start of it": ("EOS012", said("<s>Hello.</s>")),
    "history that differs is another prompt, the same one is not": (
        "DUP001",
        case(*[{"instruction": "Go on", "input": "", "output": "ok", "history": [["a", "b"]]}] * 2),
    ),
}

PASSED: dict[str, tuple[str, Case]] = {
    "a response marker that is cut off": ("BND004", cut(8)),
    "a last answer whose marker is cut off": (
        "BND004",
        replace(cut(20), changes={**cut(20).changes, "mask.turns": "last"}),
    ),
    "a second answer within the limit": ("TRU010", BOTH),
    "a call without words": (
        "TPL015",
        case(
            chat("hi", call({"q": "x"}), ("tool", "sunny"), ("assistant", "Sunny.")),
            preset="llamafactory@0.9",
            changes=OPENAI,
        ),
    ),
    "a thought that the template opens": ("THK005", case(UNOPENED, template=OPENING)),
    "copies that the trainer leaves out": (
        "DUP001",
        case(GOOD, GOOD, preset="axolotl@0.21", changes={"own.dataset_exact_deduplication": True}),
    ),
    "a system text that the messages have, too": (
        "CON015",
        case({**chat(("system", "Be brief."), ("user", "hi"), ("assistant", "Hello.")), "system": "Be brief."}),
    ),
    "how hard to think": ("CON015", case({**GOOD, "reasoning": "high"})),
    "reasoning that the answer has, too": (
        "CON015",
        case({**chat("hi", "<think>They greet me.</think>Hello."), "reasoning": "They greet me."}),
    ),
    "columns of a reranker beside an answer": (
        "CON015",
        case({**GOOD, "positives": ["Hello."]}, preset="trl@1.16"),
    ),
    "a replacement character that BERT's normalizer removes": (
        "TOK005",
        case(chat("hi you two", "the cat\ufffds paw"), tokenizer="cleans"),
    ),
    "white space of the template that a token takes along": ("TOK002", case(GOOD, tokenizer="swallows")),
    "two stops of the template's own": (
        "EOS007",
        case(GOOD, template=chatml().replace("<|im_end|>", "<|im_end|><|im_end|>")),
    ),
    "a stop token of the template's own": (
        "INJ001",
        case(chat("hi", call({"q": "x"}), result("a"), ("assistant", "Sunny.")), template=CALLING),
    ),
    "Axolotl's packs in order: the row without a stop stands alone in its pack": (
        "PAC006",
        case(
            *(
                {"input_ids": row, "labels": row, "attention_mask": [1] * len(row)}
                for row in (LONG[:42], [*LONG[:42], EOS], [*LONG[:12], EOS])
            ),
            preset="axolotl@0.19",
            changes={"pack.strategy": "multipack", "length.max": 64, "own.sample_packing_sequentially": True},
        ),
    ),
    "a stop that is masked between two that are trained": (
        "EOS007",
        replace(
            stored([*OPEN, NEWLINE, NEWLINE, NEWLINE], [*OPEN, NEWLINE, -100, NEWLINE]),
            generation_config={"eos_token_id": [NEWLINE]},
        ),
    ),
    "padding behind a stop": ("EOS001", stored([*IDS, PAD, PAD], [*IDS, -100, -100], [1] * len(IDS) + [0, 0])),
    "padding behind a stop, where everything is trained": (
        "EOS001",
        case({"input_ids": [*IDS, PAD, PAD], "attention_mask": [1] * len(IDS) + [0, 0]}, preset="trl@1.16"),
    ),
    "padding that is masked": ("LAB007", stored([*IDS, PAD, PAD], [*IDS, -100, -100], [1] * len(IDS) + [0, 0])),
    "a row without padding": ("LAB007", case(STORED, changes={"mask.rule": "given"})),
    "a tag that is talked about": (
        "THK005",
        said("You should use the </think> tag to end your thoughts, as documented."),
    ),
    "a tag in quotes": ("THK005", said('End it with "</think>" and go on.')),
    "a tag at the end of a clause": ("THK005", said("Models write <think> and </think>, then the answer.")),
    "a mention behind a thought": ("THK005", said("<think>They greet me.</think>\nClose with a </think> tag.")),
    "thoughts that differ": (
        "DUP001",
        case(*(chat("hi", {"role": "assistant", "content": "Hello.", "reasoning_content": why}) for why in ("a", "b"))),
    ),
    "history that differs": (
        "DUP001",
        case(*({"instruction": "Go on", "input": "", "output": "ok", "history": [[one, "b"]]} for one in "ab")),
    ),
    "images that differ": (
        "DUP001",
        case(*(chat("What is it?", "A cat.", images=[one]) for one in ("1.png", "2.png"))),
    ),
    "images that differ, as an evaluation set": (
        "DUP002",
        case(
            chat("What is it?", "A cat.", images=["1.png"]),
            evaluation=[chat("What is it?", "A dog.", images=["2.png"])],
        ),
    ),
    "tools that differ": (
        "DUP003",
        case(chat("hi", "Hello.", tools=[schema(a={})]), chat("hi", "Good day.", tools=[schema(b={})])),
    ),
    "two results of two calls in one turn": (
        "TOO006",
        case(
            chat(
                "hi",
                {
                    "role": "assistant",
                    "content": "",
                    "tool_calls": call({}, "a")["tool_calls"] + call({}, "b")["tool_calls"],
                },
                result("b"),
                result("a"),
                ("assistant", "Sunny."),
            ),
            template=CALLING,
        ),
    ),
    "arguments written as XML": ("TOO002", case(chat("hi", call({"city": "Paris", "days": 2})), template=IN_XML)),
    "arguments with letters that JSON escapes": (
        "TOO002",
        case(chat("hi", call({"city": 'Zürich "A"\n'})), template=CALLING),
    ),
    "a call that is given nothing": ("TOO002", case(chat("hi", call({})), template=NO_ARGUMENTS)),
    "one argument that is null": ("CON009", case(chat("hi", call({"a": None, "b": 1}), result("a")), template=CALLING)),
    "a default that is null": (
        "CON009",
        case(
            chat(
                "hi",
                "Hello.",
                tools=[schema(a={"type": "string", "default": None}, b={"type": "string", "default": None})],
            ),
            template=CALLING,
        ),
    ),
    "an answer that is only a picture": ("CON003", said([{"type": "image"}])),
    "an answer of no parts that calls": ("CON003", said([], tool_calls=call({})["tool_calls"])),
    "labels masked as the loss ignores them": ("LAB005", stored(IDS, [-1] * 10 + IDS[10:], mask__ignore_index=-1)),
    "HTML that strikes a word through": ("EOS012", said("It costs <s>12</s> 10 euros, was <s>15</s>")),
    "labels of a row without ids and messages": ("LAB006", case(GOOD, {"messages": [], "labels": [1]})),
    "a flag of Axolotl's that is no weight": (
        "LAB016",
        case(
            chat("hi", {"role": "assistant", "content": "Hello.", "train": 0.5}),
            preset="axolotl@0.19",
            changes={"data.message_keys": {"role": "role", "content": "content", "train_flag": "train"}},
        ),
    ),
    "strings in Alpaca's own format": (
        "TPL023",
        case({"instruction": "Say a", "input": "", "output": "b."}, preset="axolotl@0.19"),
    ),
    "thoughts in every answer, and questions without any": (
        "THK007",
        replace(CODES["THK007"].bad, rows=[*CODES["THK007"].bad.rows[:3], *[chat(f"Who? {n}") for n in range(3)]]),
    ),
    "a role that the template names": (
        "TPL010",
        case(
            chat(("user", "hi"), ("critic", "Hm."), ("assistant", "Hello.")),
            template=chatml(before="{% if messages[0].role == 'critic' %}{% endif %}"),
        ),
    ),
    "a few tokens that are bytes": ("TOK001", case(chat("hi", "𓂀𓃀𓄿𓅓"))),
    "a row without tokens": ("TOK003", case({"text": ""}, {"text": "Paris."}, model_config={"vocab_size": 100_000})),
    "a cut right behind a stop": ("TRU002", case(chat("hi", "Hello."), changes={"length.max": 15})),
    "two null arguments of five": (
        "CON009",
        case(chat("hi", call({"a": None, "b": None, "c": 1, "d": 1, "e": 1}), result("a")), template=CALLING),
    ),
    "argument text that is written both ways": (
        "TOO001",
        case(
            chat("hi", call('{"city": "Paris"}')),
            template=chatml(
                "{% for c in m.tool_calls %}{{ c.function.name }} {{ c.function.arguments }}"
                " {{ c.function.arguments | tojson }}{% endfor %}{{ m.content }}<|im_end|>"
            ),
        ),
    ),
    "stored labels of a question that are other ids": (
        "LAB002",
        stored_case({"input_ids": SAMPLED, "labels": [*SAMPLED[:3], *[SAMPLED[0]] * 7, *SAMPLED[10:]]}),
    ),
    "a row of its BOS alone": (
        "BOS002",
        case(
            {"text": "Paris."}, {"text": ""}, tokenizer="gemma", preset="unsloth@2026.10", facts={"chat_templates": {}}
        ),
    ),
    "a marker that merges before an answer that is no last one": ("BND011", LAST_ONLY),
    "a marker that merges before a question that is masked all the same": ("BND011", scanned(chat("hi?", "1."), "Q: ")),
    "a marker that merges before an answer that is cut off": ("BND011", marked(chat("hi?", "No.", "f", "Yes."), 15)),
    "rows that do not fail for their own sake": (
        "ROW003",
        case(GOOD, template=chatml(before="{{ bos_token + 'x' }}"), facts={"bos_token": None}),
    ),
}


@pytest.mark.parametrize("name", RAISED)
def test_told(name: str) -> None:
    code, case = RAISED[name]
    found = run(case)
    assert code in found.codes, [(one.code, one.sentence) for one in found.findings]


@pytest.mark.parametrize("name", PASSED)
def test_not_told(name: str) -> None:
    code, case = PASSED[name]
    found = run(case)
    assert code not in found.codes, found.of(code)[0].sentence


def test_a_value_that_a_template_escapes_is_told_as_such() -> None:
    escaping = NO_ARGUMENTS.replace(
        "{{ c.function.name }}", "{{ c.function.name }}{{ c.function.arguments | tojson | e }}"
    )
    (lost,) = run(case(chat("hi", call({"q": "a < b"}), result("a")), template=escaping)).of("TOO002")
    assert "the value of `q`" in lost.sentence and lost.sentence.endswith("which escapes it as HTML does")


def test_padding_that_is_trained_is_no_wrong_end() -> None:
    """Pads behind a real stop are LAB007's alone: the row does end with its stop token."""
    assert not {"EOS001", "EOS007"} & run(RAISED["attended padding that is trained"][1]).codes
    same = replace(
        stored([*IDS, EOS, EOS, EOS], [*IDS, EOS, EOS, EOS]), facts={"pad_id": EOS, "pad_token": "<|im_end|>"}
    )
    assert run(same).codes & {"EOS001", "EOS007", "LAB007"} == {"LAB007"}


def test_what_nests_deeper_than_calls_is_walked() -> None:
    deep: Any = "x"
    for _ in range(1500):
        deep = {"a": [deep]}
    assert sum(one == "a" for one in walk(deep)) == 1500
    assert [*walk({"a": [1, "b"], "c": None})][1:] == ["a", [1, "b"], 1, "b", "c", None]


def test_each_cell_of_a_row_that_is_read_otherwise_is_told() -> None:
    example = CODES["ROW018"].bad
    made = run(
        replace(example, rows=({"prompt": 7, "completion": None},), cells=(("prompt", "007"), ("completion", "NA")))
    )
    assert [finding.sentence.split("`")[1] for finding in made.of("ROW018")] == ["prompt", "completion"]


def test_the_ends_of_answers_are_special_tokens_that_are_trained() -> None:
    for end, trained in (("train", ["<|im_end|>"]), ("mask", [])):
        made = run(case(GOOD, changes={"mask.rule": "assistant", "mask.terminator": end, "mask.trailing": "train"}))
        look = RowLook(made.inspections[0], made.context)
        ((_, ends),) = trained_ends(look)
        assert [look.spelling.piece(at) for at in ends] == trained


def test_that_nothing_is_trained_is_laid_to_empty_answers_where_they_are_empty() -> None:
    for answer in ("", "Hello."):
        masked = case(chat("hi", answer, "so"), changes={"mask.rule": "assistant", "mask.terminator": "mask"})
        (found,) = run(replace(masked, edit="masked")).of("LAB001")
        assert ("the assistant's message is empty" in found.sentence) is (not answer), found.sentence


def test_a_refused_row_is_told_where_some_template_is_there() -> None:
    refused = CODES["ROW003"].bad
    context, rows = open_case(refused, refused.rows)
    context = replace(context, template=None)
    for templates in ({}, context.tools.templates):
        made = replace(context, tools=replace(context.tools, templates=templates))
        assert ("ROW003" in {one.code for one in check_row(rows[2], made)}) is bool(templates)


def test_keys_that_stand_twice_are_named_with_their_columns() -> None:
    told = "; the key `a` is duplicated in the record{}, and the last one counts"
    assert _doubled('{"b": 0, "a": 1, "a": 2}') == told.format(" (columns 10 and 18)")
    assert _doubled('{"a": 1,\n"a": 2}') == told.format("")
    assert _doubled('{"a": 1, "b": {"a": 2}}') == ""


def test_messages_have_no_place_where_nobody_knows_who_wrote_what() -> None:
    context, (made,) = open_case(RAISED["values that the template drops"][1], [chat("hi", call({"city": "Paris"}))])
    assert made.rendered is not None
    spans, text = RowLook(made, context).message_spans, made.rendered.text
    assert "hi" in text[slice(*spans[0])] and text[slice(*spans[1])].startswith("<|im_start|>assistant")
    assert all(one.start >= spans[one.message][0] and one.end <= spans[one.message][1] for one in made.rendered.spans)
    unknown = replace(made, rendered=replace(made.rendered, exact=False))
    assert RowLook(unknown, context).message_spans == {}


@pytest.mark.parametrize(
    ("code", "wrong"),
    [
        ("TOK002", case(chat("hi", "So it goes.  "), tokenizer="swallows")),
        ("PAD006", stored_case({"input_ids": IDS[:4], "labels": IDS[:4], "attention_mask": IDS[:4]})),
    ],
)
def test_a_finding_lies_on_tokens_that_the_row_has(code: str, wrong: Case) -> None:
    made = run(wrong)
    [found], [row] = made.of(code), made.inspections
    assert found.tokens is not None and row.tokens is not None
    assert found.tokens[1] == len(row.tokens)


def test_a_document_whose_labels_are_shifted_has_the_last_of_them_as_a_token() -> None:
    for last, whole in ((9, (5, 6, 7, 9)), (-100, (5, 6, 7))):
        assert _whole(Example((5, 6, 7), (6, 7, last), (1, 1, 1), shifted=True)) == whole
        assert _whole(Example((5, 6, 7), (6, 7, last), (1, 1, 1))) == (5, 6, 7)


def test_what_a_column_of_images_holds() -> None:
    assert all(_is_pictures("imgs", value) for value in ("a.PNG", ["a.jpg", 3], {"path": "a"}, [{"bytes": b""}]))
    assert not any(_is_pictures("imgs", value) for value in ("a cat", 3, [3], [], {"text": "a"}))
    assert not _is_pictures("images", ["a.png"])  # trainers read it, or say that they do not


def test_what_names_an_image() -> None:
    for content, named in (
        ("<image> a cat", True),
        ("a cat", False),
        ([{"type": "image"}], True),
        ([{"type": "text"}], False),
    ):
        said = Conversation(Kind.CHAT, "messages", messages=(Message({"role": "user", "content": content}),))
        assert _names_images(said) is named


@pytest.mark.parametrize(
    ("answer", "severity"),
    [("Hello.\n", Severity.INFO), ("Hello.\n\n", Severity.WARNING), (" Hello.", Severity.WARNING)],
)
def test_a_line_break_at_the_end_of_an_answer_harms_nothing(answer: str, severity: Severity) -> None:
    (found,) = run(case(chat("hi", answer))).of("CON004")
    assert found.severity is severity


def test_words_that_are_nearly_a_role() -> None:
    near = {"Human": "user", "usar": "user", "asistant": "assistant", "asistnt": "assistant", "sistem": "system"}
    assert {word: nearest_role(word) for word in near} == near
    assert not any(map(nearest_role, ("use", "too", "usurp", "assists", "assistant_reply")))


def test_a_text_is_mojibake_where_most_of_its_odd_letters_are() -> None:
    assert _mojibake("Ã© and Ã©, ✓")
    assert not _mojibake("Ã© ✓") and not _mojibake("Ã© and Ã©, ✓✓✓✓")


def test_a_merging_prompt_is_told_with_the_tokens_that_it_shares() -> None:
    (found,) = run(
        case(
            GOOD, template=BY_LINE + "{% if add_generation_prompt %}A: {% endif %}", changes={"mask.rule": "completion"}
        )
    ).of("BND002")
    assert "the prompt's 14 tokens share only 13 " in found.sentence


def test_a_header_that_is_a_control_token_is_no_text() -> None:
    context, (made,) = open_case(CODES["INJ003"].bad, CODES["INJ003"].bad.rows)
    for token, special, told in ((None, False, True), (7, False, True), (7, True, False)):
        tokenizer: Any = SimpleNamespace(token_id=lambda _: token, is_special=lambda _: special)  # noqa: B023
        look = RowLook(made, replace(context, tools=replace(context.tools, tokenizer=tokenizer)))
        assert bool(list(header_inside(look))) is told


def test_where_texts_stand_that_overlap() -> None:
    look: Any = SimpleNamespace(rendered=SimpleNamespace(text='ab ab abc "a\\"b"'))
    assert _stretches(look, ["ab", "abc", 'a"b']) == [(0, 2), (3, 5), (6, 9), (11, 15)]


def test_texts_that_hold_data() -> None:
    assert _holds_data('[{"a": 1}]') and _holds_data(" [{'a': 1}]")
    assert not any(map(_holds_data, ("[{oops", "{'a", "a", 3)))


def test_labels_that_are_no_ids_are_shown_where_they_begin() -> None:
    (found,) = run(stored(LONG, [-100] * 5 + [7] * (len(LONG) - 5))).of("LAB008")
    assert found.tokens == (5, 11)
