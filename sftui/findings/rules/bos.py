"""BOS: exactly one where the model expects it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sftui.findings.checks import LABELLED, Fault, row_check
from sftui.findings.look import RowLook
from sftui.findings.model import Severity
from sftui.findings.rule import GOOD, case, major
from sftui.model import Kind
from sftui.trainers.traits import Quirk

_TEXTS = ({"text": "<bos>Paris.<eos>"}, {"text": "Rome.<eos>"})

BOS001 = major(
    "double-bos",
    "the row begins with two BOS tokens",
    "The template prints BOS and the tokenizer adds another, because a rendered text was tokenized with"
    " add_special_tokens=True. LLaMA-Factory and torchtune are not affected.",
    moves=("bos",),
    bad=case(GOOD, tokenizer="gemma", changes={"tokenize.add_special_tokens": True}),
    good=case(GOOD, tokenizer="gemma"),
    more=(case(*_TEXTS, tokenizer="gemma", changes={"tokenize.add_special_tokens": True}),),
)


BOS002 = major(
    "missing-bos",
    "the row does not begin with BOS, which this model expects",
    "The BOS was stripped or never added. Gemma's perplexity without it is a billion times higher; others lose a"
    " little.",
    moves=("bos",),
    bad=case(GOOD, tokenizer="gemma", preset="manual-shift"),
    good=case(GOOD, tokenizer="gemma"),
    more=(case(*_TEXTS, tokenizer="gemma"),),
)


BOS003 = major(
    "bos-decided-by-first-row",
    "Unsloth decided BOS from the first row and this one differs",
    "Unsloth's text path switches special tokens off for the whole set if row 0 begins with BOS or the template"
    " holds the BOS text.",
    bad=case({"text": "<bos>Paris."}, {"text": "Rome."}, tokenizer="gemma", preset="unsloth@2026.10"),
    good=case(
        {"text": "Paris."}, {"text": "Rome."}, tokenizer="gemma", preset="unsloth@2026.10", facts={"chat_templates": {}}
    ),
)


@row_check(LABELLED, BOS001, BOS002, BOS003, recipe=lambda context: context.facts.bos_id is not None)
def bos_count(look: RowLook) -> Iterator[Fault]:
    """BOS001, BOS002 and BOS003."""
    bos, ids = look.facts.bos_id, look.tokens.input_ids
    if bos is None or not ids or look.labels.dropped is not None:
        return
    found = (ids[0] == bos) + (ids[0] == bos and len(ids) > 1 and ids[1] == bos)
    if found == 1:
        return
    by_first_row = (
        Quirk.BOS_BY_FIRST_ROW in look.context.traits.quirks and not look.stored and look.conversation.kind is Kind.TEXT
    )
    if found == 2:
        if by_first_row:
            yield Fault(
                f"the row begins with two BOS tokens: {look.context.traits.title} decided from the first row",
                tokens=(0, 2),
                rule=BOS003,
            )
            return
        # Texts of one set may begin with BOS or not; a template prints it always, so there the tokenizer need not add
        # one.
        added = look.recipe.tokenize.add_special_tokens and look.chat
        changes: list[tuple[str, Any]] = [
            ("tokenize.add_special_tokens", False) if added else ("tokenize.bos", "drop_second")
        ]
        yield Fault(
            "the row begins with two BOS tokens", tokens=(0, 2), changes=() if look.stored else changes, rule=BOS001
        )
        return
    why = expected_bos(look)
    if not why:
        return
    sentence = f"the row does not begin with {look.facts.bos_token}, which {why}"
    if by_first_row:
        yield Fault(f"{sentence}: Unsloth decided from the first row", tokens=(0, 1), rule=BOS003)
        return
    stripped = look.recipe.tokenize.bos == "strip_text"
    changes = [("tokenize.bos", "keep")] if stripped else [("tokenize.add_special_tokens", True)]
    if not stripped and not look.chat and look.recipe.tokenize.bos == "keep":
        changes.append(("tokenize.bos", "drop_second"))  # for the texts of the set that begin with it
    yield Fault(
        sentence,
        tokens=(0, min(4, len(ids))),
        changes=() if look.stored else changes,
        severity=Severity.ERROR if gemma_like(look) else None,
        rule=BOS002,
    )


def expected_bos(look: RowLook) -> str:
    """Why the model expects a BOS, or nothing: its template prints it, or its tokenizer adds it."""
    facts, context = look.facts, look.context
    if facts.bos_token is None:
        return ""
    if facts.adds_bos:
        return "the tokenizer adds to plain text"
    plain = context.plain
    if look.chat and plain is not None and plain.startswith(facts.bos_token):
        return "the template prints"
    return ""


def gemma_like(look: RowLook) -> bool:
    """Gemma falls apart without BOS; other families lose a little."""
    tokenizer = look.context.tools.tokenizer
    return look.context.once(
        "gemma", lambda: tokenizer.token_id("<start_of_turn>") is not None and look.facts.bos_token == "<bos>"
    )
