"""TPL017 and EOS013: every tokenizer served as it is, in all the ways there are, and by every other family.

Right pairs give nothing at all: a tokenizer served by itself, by its own template in a file, and by a GGUF file made of
it. Served by the template of another family each row with a trained answer is an error with its place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from gguf_files import served_as

from sftui import pipeline
from sftui.findings import Context, Finding, Severity, check_row
from sftui.findings.rules.serving import sides
from sftui.model import Inspection, Row
from sftui.recipe import Recipe, changed
from sftui.serving import ServedTemplate, load_served
from sftui.tokens import LoadedTokenizer, load_tokenizer
from sftui.trainers import preset
from sftui.trainers.llamafactory.trainer import with_tokens

OWN: Mapping[str, tuple[str, str, str]] = {
    "qwen2_5": ("chatml", "", "<|im_end|>"),
    "qwen2_5_vl": ("chatml", "", "<|im_end|>"),
    "qwen3": ("chatml", "", "<|im_end|>"),
    "qwen3_vl": ("chatml", "", "<|im_end|>"),
    "qwen3_5_think": ("chatml", "", "<|im_end|>"),
    "qwen3_5_nothink": ("chatml", "", "<|im_end|>"),
    "qwen3_6": ("chatml", "", "<|im_end|>"),
    "qwen3_instruct_2507": ("chatml", "", "<|im_end|>"),
    "lfm2": ("chatml", "<|startoftext|>", "<|im_end|>"),
    "llama3": ("llama3", "<|begin_of_text|>", "<|eot_id|>"),
    "llama3_1": ("llama3", "<|begin_of_text|>", "<|eot_id|>"),
    "llama3_2": ("llama3", "<|begin_of_text|>", "<|eot_id|>"),
    "gemma": ("gemma", "<bos>", "<eos>"),
    "gemma3": ("gemma", "<bos>", "<eos>"),
    "phi3": ("phi", "<s>", "<|endoftext|>"),
    "deepseekv3": ("deepseek3", "<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>"),
    "glm4moe": ("glm", "", "<|endoftext|>"),
    "cohere": ("cohere", "<BOS_TOKEN>", "<|END_OF_TURN_TOKEN|>"),
    "gptoss": ("gpt_oss", "<|startoftext|>", "<|return|>"),
}
"""Of the templates in ../shared: family, BOS and EOS of their models."""
TURNS = ("<start_of_turn>", "<end_of_turn>", "<|end|>", "<|eot_id|>")
SHARED = {"qwen2.5": "chatml", "llama-3-8b-instruct": "llama3", "phi-3-mini": "phi", "minimind": "chatml"}
BUNDLED = ("chatml", "gemma", "llama3")
RIGHT: Mapping[str, Sequence[str]] = {
    "qwen2_5": ("qwen",),
    "qwen2_5_vl": ("qwen2_vl",),
    "qwen3": ("qwen3", "qwen3_nothink"),
    "qwen3_vl": ("qwen3_vl_nothink",),
    "qwen3_instruct_2507": ("qwen3_nothink",),
    "llama3": ("llama3",),
    "llama3_1": ("llama3",),
    "llama3_2": ("llama3",),
    "gemma": ("gemma",),
    "gemma3": ("gemma3",),
    "phi3": ("phi",),
    "deepseekv3": ("deepseek3",),
    "cohere": ("cohere",),
}
"""What LLaMA-Factory's list of models names for them. (Its lfm2 begins rows without the BOS of the model's own, of
which a warning tells.)"""
TOLD_TO_LLAMAFACTORY = tuple(
    {"conversations": [{"from": "human", "value": asked}, {"from": "gpt", "value": said}] * rounds}
    for asked, said, rounds in (("What is 2+2?", "It is 4.", 1), ("What is 2+2?", "It is 4.", 2))
)
ASKED, SAID = {"role": "user", "content": "What is 2+2?"}, {"role": "assistant", "content": "It is 4."}
MORE, AGAIN = {"role": "user", "content": "And 3+3?"}, {"role": "assistant", "content": "6."}
ROWS: Mapping[str, dict[str, Any]] = {
    "one round": {"messages": [ASKED, SAID]},
    "rounds": {"messages": [ASKED, SAID, MORE, AGAIN]},
    "system": {"messages": [{"role": "system", "content": "Be brief."}, ASKED, SAID]},
    "a thought": {"messages": [ASKED, {"role": "assistant", "content": "<think>\nadd\n</think>\n\nIt is 4."}]},
    "white space": {"messages": [{"role": "user", "content": " What? "}, {"role": "assistant", "content": " It. "}]},
}
TOOLS = [{"type": "function", "function": {"name": "add", "description": "adds", "parameters": {"type": "object"}}}]
CALL = {"id": "abcdefghi", "type": "function", "function": {"name": "add", "arguments": {"a": 1}}}
CALLS: Mapping[str, dict[str, Any]] = {
    "a call": {
        "messages": [
            ASKED,
            {"role": "assistant", "content": "", "tool_calls": [CALL]},
            {"role": "tool", "name": "add", "tool_call_id": "abcdefghi", "content": "4"},
            SAID,
            MORE,
            AGAIN,
        ],
        "tools": TOOLS,
    },
    "thoughts": {
        "messages": [ASKED, {**SAID, "reasoning_content": "two"}, MORE, {**AGAIN, "reasoning_content": "six"}]
    },
}
RECIPES = ("trl@1.16", "hf-trainer", "unsloth")


@cache
def bundled(name: str) -> LoadedTokenizer:
    return load_tokenizer(f"builtin:{name}")


def with_template(source: str, bos: str, eos: str) -> LoadedTokenizer:
    """A small tokenizer that brings this chat template, and begins and ends texts so."""
    plain = bundled("chatml")
    words = [one for one in (bos, eos, *TURNS) if one and (one in source or one in (bos, eos))]
    made = with_tokens(plain, words).overriding(bos=bos or None, eos=eos)
    return LoadedTokenizer(replace(made.facts, chat_templates={"default": source}), made.engine)


def recipe_of(name: str, **knobs: Any) -> Recipe:
    recipe = preset(name)
    for path, value in knobs.items():
        recipe = changed(recipe, path.replace("__", "."), value)
    return recipe


def found(
    tokenizer: LoadedTokenizer, row: Mapping[str, Any], served: ServedTemplate, recipe: Recipe
) -> tuple[Inspection, list[Finding]]:
    tools = pipeline.make_toolbox(recipe, tokenizer)
    one = Row(0, dict(row), repr(row), "row 0")
    detected = pipeline.detect([one], recipe)
    tools = replace(pipeline.survey(one, detected, recipe, tools), served=served)
    context = Context(recipe, tools.tokenizer.facts, tools.templates.get("default"), detected, tools)
    inspection = pipeline.inspect(one, detected, recipe, tools)
    return inspection, [each for each in check_row(inspection, context) if each.code in ("TPL017", "EOS013")]


def ways(tokenizer: LoadedTokenizer, folder: Path, name: str = "builtin:chatml") -> dict[str, ServedTemplate]:
    """A tokenizer served by itself, by its template in a file, and by a GGUF file made of it."""
    file = folder / "own.jinja"
    file.write_text(tokenizer.facts.chat_templates["default"], encoding="utf-8")
    gguf = served_as(folder / "own.gguf", tokenizer)
    return {
        "itself": load_served(name, tokenizer, name),
        "file": load_served(str(file), tokenizer, name),
        "gguf": load_served(str(gguf), tokenizer, name),
    }


def nothing_is_found(tokenizer: LoadedTokenizer, folder: Path, name: str = "builtin:chatml") -> Counter[str]:
    told: Counter[str] = Counter()
    for way, served in ways(tokenizer, folder, name).items():
        for trainer in RECIPES:
            for shape, row in {**ROWS, **CALLS}.items():
                inspection, findings = found(tokenizer, row, served, recipe_of(trainer))
                if inspection.problem is not None:
                    told["refused by the template itself"] += 1
                    continue
                assert findings == [], (name, way, trainer, shape, findings)
                told[f"nothing by {way}"] += 1
    return told


def error_with_its_place(tokenizer: LoadedTokenizer, other: LoadedTokenizer, folder: Path) -> Counter[str]:
    told: Counter[str] = Counter()
    file = folder / "other.jinja"
    file.write_text(other.facts.chat_templates["default"], encoding="utf-8")
    served = load_served(str(file), tokenizer, None)
    for shape in ("one round", "rounds", "system", "a call"):
        inspection, findings = found(tokenizer, {**ROWS, **CALLS}[shape], served, recipe_of("trl@1.16"))
        if inspection.problem is not None:
            told["refused by the template itself"] += 1
            continue
        one = next((each for each in findings if each.code == "TPL017"), None)
        assert one is not None and one.severity is Severity.ERROR, (other.facts.chat_templates, shape, findings)
        assert one.tokens is not None and one.message is not None and " ≠ " in one.evidence
        assert inspection.tokens is not None and 0 <= one.tokens[0] < one.tokens[1] <= len(inspection.tokens)
        told["error"] += 1
    return told


@pytest.mark.parametrize("name", BUNDLED)
def test_a_bundled_tokenizer_served_as_it_is(name: str, tmp_path: Path) -> None:
    assert nothing_is_found(bundled(name), tmp_path, f"builtin:{name}").total() == 3 * len(RECIPES) * (len(ROWS) + 2)


@pytest.mark.parametrize("name", BUNDLED)
def test_a_bundled_tokenizer_served_as_another_family(name: str, tmp_path: Path) -> None:
    for other in {*BUNDLED} - {name}:
        error_with_its_place(bundled(name), bundled(other), tmp_path)


@cache
def published(name: str, shared: Path) -> LoadedTokenizer:
    _, bos, eos = OWN[name]
    source = (shared / "testdata" / "templates" / f"trl_{name}.jinja").read_text(encoding="utf-8")
    return with_template(source, bos, eos)


@cache
def real(name: str, shared: Path) -> LoadedTokenizer:
    return load_tokenizer(str(shared / "testdata" / "tokenizers" / name))


@pytest.mark.shared
@pytest.mark.long
@pytest.mark.parametrize("name", sorted(OWN))
def test_the_templates_of_published_models(
    name: str, shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = published(name, shared)
    told = nothing_is_found(own, tmp_path)
    for other, (family, _, _) in OWN.items():
        if family != OWN[name][0]:
            told += error_with_its_place(own, published(other, shared), tmp_path)
    with capsys.disabled():
        print(f"\n{name}: {dict(told)}")


@pytest.mark.long
@pytest.mark.shared
@pytest.mark.parametrize("name", sorted(SHARED))
def test_the_shared_tokenizers(name: str, shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = real(name, shared)
    told = nothing_is_found(own, tmp_path, str(shared / "testdata" / "tokenizers" / name))
    for other, family in SHARED.items():
        if family != SHARED[name]:
            told += error_with_its_place(own, real(other, shared), tmp_path)
    with capsys.disabled():
        print(f"\n{name}: {dict(told)}")


Changed = Callable[[ServedTemplate], ServedTemplate]
CHATML = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
PROMPT = "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"


def template(source: str) -> Changed:
    return lambda served: replace(served, templates={"default": source})


@pytest.mark.parametrize(
    ("source", "row", "severity", "said", "evidence"),
    [
        (CHATML + PROMPT, "rounds", None, "", ""),
        (CHATML + PROMPT.replace("\n", ""), "one round", "warning", "differs from training", "assistant⏎ ≠ "),
        (CHATML.replace("m.content", "m.content | trim") + PROMPT, "white space", "info", "content differently", ""),
        ("Today is Friday.\n" + CHATML + PROMPT, "one round", "info", "begins rows differently", "≠ Today is Friday.⏎"),
        (CHATML + PROMPT.replace("{% endif", "<think>\n\n</think>\n\n{% endif"), "one round", "info", "thought", ""),
        (CHATML.replace("im_end", "eot") + PROMPT, "rounds", "error", "different text", "<|im_end|>⏎"),
        (CHATML, "one round", "error", "different text", "assistant⏎ ≠ <|im_end|>⏎"),
        ("{{ raise_exception('no') }}" + CHATML, "one round", "warning", "rejects what comes before message 1", "no"),
        ("{% if messages[0].role == 'system' %}{{ raise_exception('no') }}{% endif %}" + CHATML + PROMPT, "system",
         "warning", "rejects what comes before message 2", "no"),
    ],
)  # fmt: skip
def test_kinds_of_difference(source: str, row: str, severity: str | None, said: str, evidence: str) -> None:
    own = bundled("chatml")
    served = template(source)(load_served("builtin:chatml", own, "builtin:chatml"))
    _, findings = found(own, ROWS[row], served, recipe_of("hf-trainer", mask__rule="assistant"))
    assert [one.severity.value for one in findings] == [severity] * (severity is not None), findings
    for one in findings:
        assert said in one.sentence and evidence in one.evidence, one


@pytest.mark.parametrize(
    ("name", "bos", "trained", "told"),
    [
        ("llama3", True, {}, None),
        ("llama3", False, {}, None),  # the template writes it
        ("llama3", None, {}, None),
        (
            "llama3",
            True,
            {"tokenize__bos": "strip_text"},
            "trained with no BOS at the start, but X sends 1 BOS, which the",
        ),
        ("llama3", False, {"tokenize__bos": "strip_text"}, "trained with no BOS at the start, but X sends 1 BOS"),
        ("llama3", None, {"tokenize__bos": "strip_text"}, None),
        ("gemma", True, {"tokenize__add_special_tokens": True}, "trained with 2 BOS at the start, but X sends 1 BOS"),
    ],
)
def test_bos_that_the_server_adds(name: str, bos: bool | None, trained: Mapping[str, Any], told: str | None) -> None:
    own = bundled(name)
    served = replace(load_served(f"builtin:{name}", own, f"builtin:{name}"), name="X", adds_bos=bos)
    _, findings = found(own, ROWS["one round"], served, recipe_of("hf-trainer", **trained))
    assert [one.code for one in findings] == ["TPL017"] * (told is not None), findings
    for one in findings:
        assert told is not None and told in one.sentence and one.severity is Severity.WARNING
        assert one.tokens is not None and one.tokens[0] == 0


def test_a_bos_that_no_template_writes_and_the_server_adds(tmp_path: Path) -> None:
    """A GGUF file of Qwen whose converter set add_bos_token: the model never saw it."""
    own = bundled("chatml")
    end = own.token_id("<|endoftext|>")
    served = load_served(str(served_as(tmp_path / "x.gguf", own, add_bos_token=True, bos_token_id=end)), own, None)
    _, (one,) = found(own, ROWS["one round"], served, recipe_of("trl@1.16"))
    assert "sends 1 BOS, which the server adds itself (add_bos_token)" in one.sentence
    assert one.evidence.endswith("≠ [<|endoftext|>]")


def test_another_vocabulary_is_an_error(tmp_path: Path) -> None:
    """A GGUF file of the base model, whose ids of control tokens are others."""
    own = bundled("chatml")
    words = [own.piece(one) for one in range(own.facts.vocab_size)]
    start, end = own.token_id("<|im_start|>"), own.token_id("<|im_end|>")
    assert start is not None and end is not None
    words[start], words[end] = words[end], words[start]
    served = load_served(str(served_as(tmp_path / "x.gguf", own, tokens=words)), own, None)
    _, findings = found(own, ROWS["one round"], served, recipe_of("trl@1.16"))
    one = next(each for each in findings if each.code == "TPL017")
    assert (
        one.severity is Severity.ERROR and f"id {start} is <|im_start|> in training but <|im_end|> in" in one.sentence
    )


def test_other_ids_of_the_same_text_are_told() -> None:
    own = bundled("chatml")
    llama = bundled("llama3")
    served = replace(load_served("builtin:chatml", own, "builtin:chatml"), tokenizer=llama)
    _, findings = found(own, ROWS["one round"], served, recipe_of("trl@1.16"))
    (one,) = [each for each in findings if each.code == "TPL017"]
    assert one.severity is Severity.ERROR and "writes the same text as in training, with different ids" in one.sentence


@pytest.mark.parametrize(
    ("stops", "knobs", "told"),
    [
        ({"<|im_end|>"}, {}, None),
        ({"<|endoftext|>"}, {}, "answers end with <|im_end|>, but generation with X stops on <|endoftext|>"),
        (None, {}, None),
        ({"<|endoftext|>"}, {"mask__terminator": "mask"}, None),
    ],
)
def test_what_ends_generation(stops: set[str] | None, knobs: Mapping[str, Any], told: str | None) -> None:
    own = bundled("chatml")
    made = load_served("builtin:chatml", own, "builtin:chatml")
    served = replace(made, name="X", stops=None if stops is None else frozenset(stops))
    _, findings = found(own, ROWS["rounds"], served, recipe_of("hf-trainer", mask__rule="assistant", **knobs))
    assert [one.sentence for one in findings if one.code == "EOS013"] == ([told] if told else [])


def test_what_the_model_writes_by_itself_need_not_be_sent() -> None:
    """LLaMA-Factory's qwen3 trains the empty thought that it writes, or masks it where thinking is switched off; a
    template that begins the answer later is no difference where all of the row is trained."""
    own = bundled("chatml")
    served = load_served("builtin:chatml", own, "builtin:chatml")
    row = {"conversations": [{"from": "human", "value": "What?"}, {"from": "gpt", "value": "4."}]}
    verdicts = []
    for kwargs in ({}, {"enable_thinking": False}):
        recipe = recipe_of("llamafactory@0.9", render__template="llamafactory/qwen3", render__kwargs=kwargs)
        verdicts.append([one.severity.value for one in found(own, row, served, recipe)[1]])
    assert verdicts == [[], ["warning"]]
    early = template(CHATML + PROMPT.replace("\n", ""))(served)
    for rule, told in (("all", []), ("assistant", ["warning"])):
        recipe = recipe_of("hf-trainer", mask__rule=rule)
        assert [one.severity.value for one in found(own, ROWS["one round"], early, recipe)[1]] == told


@pytest.mark.long
@pytest.mark.shared
@pytest.mark.parametrize(("name", "templates"), sorted(RIGHT.items()))
def test_a_right_template_of_llamafactory_served_by_the_models_own(
    name: str, templates: Sequence[str], shared: Path, tmp_path: Path
) -> None:
    own = published(name, shared)
    for way, served in ways(own, tmp_path).items():
        for one in templates:
            for row in TOLD_TO_LLAMAFACTORY:
                recipe = recipe_of("llamafactory@0.9", render__template=f"llamafactory/{one}")
                _, findings = found(own, row, served, recipe)
                told = [each.severity.value for each in findings if each.severity is not Severity.INFO]
                assert told == [], (one, way, row, findings)


@pytest.mark.parametrize(
    ("name", "knobs"), [("hf-trainer", {}), ("llamafactory@0.9", {"render__template": "llamafactory/qwen"})]
)
def test_an_answer_that_merges_into_its_header_is_served_as_it_is_asked(name: str, knobs: Mapping[str, Any]) -> None:
    """Rows that are encoded whole have other ids at the edge of the prompt, and those that are encoded in parts would
    have them as a whole: of both other findings tell."""
    row = {"messages": [{"role": "system", "content": "Be brief."}, ASKED, {**SAID, "content": "\nIt is 4."}]}
    own = bundled("chatml")
    assert found(own, row, load_served("builtin:chatml", own, "builtin:chatml"), recipe_of(name, **knobs))[1] == []


def test_of_long_texts_what_differs_is_shown() -> None:
    same, many = "abcdefgh" * 40, "ijklmnop" * 40
    said = sides(f"{same}one{many}", f"{same}other words{many}")
    assert "one" in said and "other words" in said and len(said) < 200
    assert said.count("…") == 4 and "fghone" in said.replace("…", "") and "wordsijk" in said.replace("…", "")
