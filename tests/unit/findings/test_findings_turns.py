"""Turns in stored ids: which ids begin them, by the template that the tokenizer brings."""

from __future__ import annotations

from random import Random
from types import SimpleNamespace
from typing import Any, cast

import pytest
from case_runner import run

from sftui.findings.context import Context
from sftui.findings.model import Severity
from sftui.findings.rule import Case
from sftui.findings.rules.turns import openings_of
from sftui.templates import compile_template
from sftui.tokens import load_tokenizer

QUESTIONED = "{% for m in messages %}{{ m.content + '\n' }}{% endfor %}"


def context_of(name: str, source: str | None = None) -> Context:
    tokenizer = load_tokenizer(name)
    template = compile_template(source or tokenizer.facts.chat_templates["default"], "test")
    facts = tokenizer.facts
    variables = {"bos_token": facts.bos_token, "eos_token": facts.eos_token}
    tools = SimpleNamespace(tokenizer=tokenizer)
    stops = frozenset([facts.eos_id])
    made: Any = SimpleNamespace(template=template, variables=variables, tools=tools, stops=stops)
    return cast(Context, made)


@pytest.mark.parametrize(
    ("name", "opening", "role"),
    [
        ("builtin:chatml", "<|im_start|>assistant", "assistant"),
        ("builtin:chatml", "<|im_start|>user", "user"),
        ("builtin:gemma", "<start_of_turn>model", "assistant"),
        ("builtin:llama3", "<|start_header_id|>user", "user"),
    ],
)
def test_a_role_is_begun_by_the_fewest_ids_that_no_other_has(name: str, opening: str, role: str) -> None:
    context = context_of(name)
    found = {role: ids for ids, role in openings_of(context).items()}
    wanted = tuple(context.tools.tokenizer.encode(opening).ids)
    assert found[role] == wanted[: len(found[role])]
    assert len(found[role]) > 1


def test_a_template_without_control_tokens_tells_no_turns() -> None:
    assert openings_of(context_of("builtin:chatml", QUESTIONED)) == {}


def pack(tokenizer: Any, rng: Random, way: str, miss: int | None) -> dict[str, list[int]]:
    """Eight questions with answers, whose labels are stored so; `miss` is the one label of each document that fits
    neither way."""
    words = ["city", "large", "a", "river", "runs", "through", "it", "while", "people", "walk", "along", "its", "banks"]
    ids, labels = list[int](), list[int]()
    for _ in range(8):
        asked, said = (" ".join(rng.choices(words, k=8)) for _ in range(2))
        prompt = f"<|im_start|>user\n{asked}<|im_end|>\n<|im_start|>assistant\n"
        parts = [list(tokenizer.encode(text).ids) for text in (prompt, f"{said}<|im_end|>", "\n")]
        own = [-100] * len(parts[0]) + parts[1] + [-100] * len(parts[2])
        if way == "shifted":
            own = [*own[1:], -100 if miss is None else miss]
        elif miss is not None:
            own[0] = miss
        ids += [token for part in parts for token in part]
        labels += own
    return {"input_ids": ids, "labels": labels}


@pytest.mark.parametrize("way", ["shifted", "unshifted"])
@pytest.mark.parametrize("miss", [0, 999, 3002])
def test_a_miss_at_each_border_of_a_pack_leaves_the_shift_unclear(way: str, miss: int) -> None:
    """Both readings are told, the likelier one is a change away, and no error rests on either."""
    tokenizer, rng = load_tokenizer("builtin:chatml"), Random(miss)
    rows = [pack(tokenizer, rng, way, miss) for _ in range(6)]
    made = run(Case(rows, changes={"mask.rule": "given"}))
    assert made.context.detected.given_labels == "unknown"
    [found] = made.of("LAB020")
    count = 42 if way == "shifted" else 48  # the last label of a row has no next id that it could be held against
    assert f"they look {way}, but {count} labels where documents meet disagree" in found.sentence
    assert found.fix is not None and [(one.path, one.after) for one in found.fix.changes] == [
        ("data.given_labels", way)
    ]
    assert not [one for one in made.findings if one.severity is Severity.ERROR]
    other = run(Case(rows, changes={"mask.rule": "given", "data.given_labels": way}))
    assert "LAB020" not in other.codes and not {"EOS004", "LAB002", "LAB008"} & other.codes


@pytest.mark.parametrize("way", ["shifted", "unshifted"])
def test_packs_without_a_miss_are_clear(way: str) -> None:
    tokenizer, rng = load_tokenizer("builtin:chatml"), Random(way)
    made = run(Case([pack(tokenizer, rng, way, None) for _ in range(6)], changes={"mask.rule": "given"}))
    assert "LAB020" not in made.codes and made.context.detected.given_labels == way


def masked(row: dict[str, list[int]], wrong: str) -> dict[str, list[int]]:
    """A row of one answer with a column that is made wrong."""
    ids, labels = row["input_ids"], row["labels"]
    seen = [int(one != -100) for one in labels]
    first = labels.index(ids[seen.index(1)], seen.index(1))
    made: dict[str, list[int]] = {
        "question": [*ids[: len(ids) - 1], -100],
        "end": [-100 if token == 3002 else one for token, one in zip(ids, labels)],
        "around": [token if at == first - 1 else -100 for at, token in enumerate(ids)],
    }
    attention = {"ids": ids, "labels": seen}.get(wrong, [1] * len(ids))
    return {"input_ids": ids, "labels": made.get(wrong, labels), "attention_mask": attention}


@pytest.mark.parametrize(
    ("wrong", "code", "says"),
    [
        ("question", "LAB002", "trained tokens are user text"),
        ("end", "EOS004", "the answer is trained but its"),
        ("around", "LAB002", "no token of the 1 answer is trained"),
        ("ids", "PAD006", "the attention mask is a copy of the ids"),
        ("labels", "PAD006", "exactly those whose labels are masked"),
        ("", "", ""),
    ],
)
def test_stored_rows_of_one_answer(wrong: str, code: str, says: str) -> None:
    """Fifty rows each way: all are found, and none of those that are right."""
    tokenizer, rng = load_tokenizer("builtin:chatml"), Random(wrong)
    rows = []
    for _ in range(50):
        whole = pack(tokenizer, rng, "unshifted", None)
        end = next(
            at for at, (one, token) in enumerate(zip(whole["labels"], whole["input_ids"])) if one == token == 3002
        )
        rows.append(masked({name: column[: end + 2] for name, column in whole.items()}, wrong))
    changes = {"mask.rule": "given", "data.given_labels": "unshifted"}
    made = run(Case(rows, changes=changes, facts={"eos_id": 3000} if wrong == "end" else {}))
    found = {one.row for one in made.of(code) if says in one.sentence}
    assert len(found) == (50 if wrong else 0)
    assert wrong or not {"LAB002", "EOS004", "PAD006", "PAD002"} & made.codes
