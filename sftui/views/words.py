"""In words: what happens at a token, and why. The only place where reasons become sentences."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from sftui.model import NOWHERE, Inspection, Kind, Message, Part, Reason, Stage
from sftui.recipe import Recipe
from sftui.text import visible
from sftui.views.cells import Role
from sftui.views.table import CUT, END, LEARNT, UNKNOWN, TokenTable

NOTHING_FOLLOWS = "nothing follows"
NOTHING_PRECEDES = "nothing precedes"

_TOLD: dict[str, dict[str, str]] = json.loads(Path(__file__).with_name("reasons.json").read_text(encoding="utf-8"))
REASONS = {reason: _TOLD[reason.name]["short"] for reason in Reason}
LENS = {reason.value: _TOLD[reason.name].get("lens", reason.value) for reason in Reason}
"""What the lens calls a reason over a few tokens: no two are called the same."""
FACTS = {reason: _TOLD[reason.name]["fact"] for reason in Reason}
"""The fact that decided, for each reason. `who`: the message as the card names it; `tokens`, `limit`: of the row and of
the recipe; `trainer`: its title."""
RULE_OF = {Reason[name]: one["rule"] for name, one in _TOLD.items() if "rule" in one}
"""The mask rule that a reason speaks of alone: what `auto` came to, or what a trainer does with a row of another shape.
"""

NO_MESSAGE, NO_DATA = "no message", "not text from the data"
"""Whose a token is that nobody wrote."""


def message_of(inspection: Inspection, i: int) -> Message | None:
    """The message that a token belongs to."""
    messages = inspection.conversation.messages if inspection.conversation is not None else ()
    number = inspection.tokens.messages[i] if inspection.tokens is not None and inspection.tokens.messages else NOWHERE
    return messages[number] if NOWHERE < number < len(messages) else None


def who(inspection: Inspection, i: int) -> str:
    """What a token comes from: a message by its role, and which one of that role it is; a column of a row that has no
    messages."""
    found, conversation = message_of(inspection, i), inspection.conversation
    if found is not None and conversation is not None:
        alike = [message for message in conversation.messages if message.role == found.role]
        number = next(k for k, one in enumerate(alike, 1) if one is found)
        return f"{visible(found.role)} message {number} of {len(alike)}".strip()
    if conversation is None or inspection.tokens is None or conversation.kind is Kind.CHAT:
        return NO_MESSAGE
    if conversation.kind is Kind.TOKENS:
        columns = list(_id_columns(inspection, i))
        return f"the data's `{visible(columns[0])}`" if columns else "the row's own ids"
    if not inspection.tokens.parts or inspection.tokens.parts[i] is not Part.CONTENT:
        return NO_DATA
    number = inspection.tokens.messages[i]
    named = conversation.extra.get("origins", {}).get(("prompt", "completion")[number]) if number in (0, 1) else None
    columns = _text_columns(inspection, i)
    if columns := [named] if named and (named in columns or not columns) else columns:
        return f"the data's `{visible(str(columns[-1 if number == 1 else 0]))}`"
    return ("the prompt", "the completion")[number] if number in (0, 1) else "the row's text"


def _id_columns(inspection: Inspection, i: int) -> Iterator[str]:
    """The columns whose ids a stored row begins or ends with, this token among them."""
    from sftui.conversations.tensors import LABELS

    ids = inspection.tokens.input_ids if inspection.tokens is not None else ()
    for name, value in (inspection.row.data or {}).items():
        if not isinstance(value, (list, tuple)) or not value or name.lower() in LABELS:
            continue
        count = len(value)
        if (i < count and tuple(value) == ids[:count]) or (i >= len(ids) - count and tuple(value) == ids[-count:]):
            yield name


def _text_columns(inspection: Inspection, i: int) -> list[str]:
    """The columns of a row that hold the stretch of text around a token: those that are it, else that are a part of it
    at the token, else that it is a part of."""
    tokens, rendered = inspection.tokens, inspection.rendered
    at = tokens.starts[i] if tokens is not None and tokens.starts else NOWHERE
    span = next((one for one in rendered.spans if one.start <= at < one.end), None) if rendered is not None else None
    if rendered is None or span is None:
        return []
    stretch, before = rendered.text[span.start : span.end], at - span.start
    texts = {name: value.strip() for name, value in (inspection.row.data or {}).items() if isinstance(value, str)}
    whole = stretch.strip()

    def around(text: str) -> str:
        return stretch[max(0, before - len(text) + 1) : before + len(text)]

    return (
        [name for name, text in texts.items() if text == whole]
        or [name for name, text in texts.items() if text and text in around(text)]
        or [name for name, text in texts.items() if whole and whole in text]
    )


def fact(table: TokenTable, i: int, inspection: Inspection, recipe: Recipe, trainer: str) -> str:
    """The fact that decided the token's label; `trainer` is the title of the recipe's trainer."""
    if table.reasons is None:
        return "the row failed before its labels were computed"
    if inspection.dropped is not None:
        return f"{trainer} drops the whole row: {visible(inspection.dropped)}"
    reason = Reason.TRUNCATED if table.loss[i] == CUT else table.reasons[i]
    return FACTS[reason].format(
        who=who(inspection, i),
        tokens=f"{len(table):,}",
        limit=f"{recipe.length.max:,}" if recipe.length.max is not None else "none",
        trainer=trainer,
    )


_CHOSEN = {
    "all": "trains every token",
    "completion": "trains the last answer only",
    "assistant": "trains every answer",
    "generation_tag": "trains what {% generation %} tags mark",
    "turn_content": "trains every answer",
    "turn_full": "trains whole answers, headers included",
    "parts": "trains every answer",
    "markers": "trains what follows the response marker",
    "segments": "trains the segments that the data marks",
    "given": "trains what the data's own labels say",
    "auto": "decides from the data what to train",
}


def what_is_chosen(recipe: Recipe, inspection: Inspection | None = None) -> str:
    """What a recipe trains, in a few words; of the rule `auto` what it came to in a row."""
    mask, rule = recipe.mask, recipe.mask.rule
    if recipe.loss.objective == "reward":
        return "reads one score at the end of each side"
    if not recipe.supervised:
        return f"{recipe.loss.objective.upper()} trains the answers"
    if rule == "auto" and inspection is not None and inspection.labels is not None:
        met = {RULE_OF.get(reason, "") for reason in {*inspection.labels.reasons}}
        met |= {"assistant"} if Reason.ASSISTANT in inspection.labels.reasons else set()
        rule = next((name for name in _CHOSEN if name in met), rule)
    if rule == "completion" and (mask.prompt == "column" or recipe.mask.rule == "auto"):
        return "trains the completion only"
    if rule in ("assistant", "turn_content", "turn_full", "parts"):
        if mask.roles != ("assistant",):
            return f"trains messages of {', '.join(map(visible, mask.roles)) or 'no role'}"
        if mask.turns == "last":
            return _CHOSEN["completion"]
    return _CHOSEN[rule]


def verdict_word(table: TokenTable, i: int) -> tuple[str, Role]:
    """Whether the token is trained, in a word."""
    glyph = table.loss[i]
    if table.dropped:
        return "dropped with its row", Role.ERROR
    if glyph == CUT:
        return "cut", Role.WARNING
    if glyph == UNKNOWN:
        return "unknown", Role.DIM
    if _scored(table, i):
        return "scored", Role.TRAINED
    return ("trained", Role.TRAINED) if glyph in LEARNT else ("masked", Role.MASKED)


def _scored(table: TokenTable, i: int) -> bool:
    return table.reasons is not None and table.reasons[i] is Reason.SCORED


def what_is_learnt(table: TokenTable, i: int) -> str:
    """What the model learns from the prediction made at token `i`, in a few words.

    `sees …␣on → learns ␣what`, or why nothing is learnt there.
    """
    glyph = table.loss_shifted[i]
    after = table.follower(i)
    if glyph in _ALWAYS:
        return _ALWAYS[glyph]
    if after is None:
        return _ALWAYS[END]
    if glyph in LEARNT:
        return f"{_verb(table, i)} → learns {table.target_cell(after)}{_times(table, after)}"
    return f"not trained{_because(table, after)}"


def what_is_trained(table: TokenTable, i: int) -> str:
    """What becomes of the label of token `i`, in a few words: where it is learnt, or why not."""
    glyph = table.loss[i]
    if glyph in _ALWAYS:
        return _ALWAYS[glyph]
    if glyph not in LEARNT:
        return f"not trained{_because(table, i)}"
    if _scored(table, i):
        return "the reward of this side; no other token carries loss"
    before = table.predecessor(i)
    if before is None:
        return f"{NOTHING_PRECEDES} it: never predicted"
    return f"{_verb(table, before)} → learns {table.target_cell(i)}{_times(table, i)}"


_ALWAYS = {
    UNKNOWN: "labels are unknown",
    CUT: "cut: never reaches the trainer",
    END: f"{NOTHING_FOLLOWS}: nothing left to predict",
}


def _verb(table: TokenTable, i: int) -> str:
    return f"{'if it were not dropped: ' if table.dropped else ''}sees …{table.cells[i]}"


def _times(table: TokenTable, i: int) -> str:
    """The weight with which a token is learnt, where it is not 1."""
    weight = table.weight(i)
    return "" if weight is None or weight == 1 else f" ×{weight:g}"


def _because(table: TokenTable, i: int) -> str:
    return f": {table.reasons[i].value}" if table.reasons is not None else ""


NEVER = "; first token: never predicted, so no loss"


def explain(table: TokenTable, i: int, *, shift: bool = False, fact: str = "") -> str:
    """One full sentence about token `i`, for the line under the grid; `fact` is what the card says of it."""
    reasons = table.reasons
    if fact and not shift:
        end = NEVER * (i == table.first and table.loss[i] in LEARNT and not table.dropped)
        return f"{verdict_word(table, i)[0]}{_weighed(table, i)}: {fact}{end}"
    why = f", because {REASONS[reasons[i]]}" if reasons is not None else ""
    if shift:
        return what_is_learnt(table, i)
    glyph = table.loss[i]
    if glyph == UNKNOWN:
        return _ALWAYS[UNKNOWN]
    if glyph == CUT:
        return f"cut{why}; the trainer never sees it"
    weighed = _weighed(table, i)
    if table.dropped:
        return f"{'labelled' if glyph in LEARNT else 'masked'}{weighed}{why}; but the trainer drops the whole row"
    if glyph in LEARNT:
        return f"trained{weighed}{why}{NEVER * (i == table.first)}"
    return f"masked{weighed}{why}"


def _weighed(table: TokenTable, i: int) -> str:
    """The weight of a token where it says more than whether it is trained."""
    weight = table.weight(i)
    return "" if weight is None or weight == (1 if table.loss[i] in LEARNT else 0) else f" with weight {weight:g}"


def convention(shift: str) -> str:
    """Who shifts, in one line; `shift` is `recipe.loss.shift`."""
    if shift == "preshifted":
        return "labels are stored shifted by one (preshifted): row = input_ids[:-1], labels[1:]"
    return "labels are stored unshifted: the model's loss shifts them"


def shift_warning(shift: str) -> str | None:
    """What goes wrong where hand-shifted labels meet a model that shifts inside; None: nothing.

    Every transformers `…ForCausalLM` computes its loss with an internal shift, so labels that
    were shifted by hand would train position i on token i + 2.
    """
    if shift != "preshifted":
        return None
    return (
        "transformers' CausalLM models shift labels themselves: with these they learn two tokens ahead; use these"
        " labels only with a loss that does not shift"
    )


STAGES: dict[Stage, str] = {
    Stage.ROW: "this row could not be read",
    Stage.CONVERSATION: "this row could not be read as a conversation",
    Stage.RENDERED: "the chat template failed on this row",
    Stage.TOKENS: "this row could not be tokenized",
    Stage.LABELS: "this row could not be labelled",
}


EVALUATES = "evaluation row"
"""What a row is called that the trainer sets aside."""


def evaluation_words(inspection: Inspection) -> str | None:
    """What becomes of a row that the trainer sets aside for evaluation; None for any other."""
    return f"{EVALUATES}: the trainer holds it out and does not train on it" if inspection.evaluates else None


def why_stopped(inspection: Inspection) -> str | None:
    """Why the row stopped before labels, or why the trainer drops it; None where neither."""
    if inspection.row.left_out is not None:
        return f"left out of the repaired data (not yet written): {inspection.row.left_out}"
    if inspection.stopped_at is not None and inspection.problem is not None:
        return f"{STAGES[inspection.stopped_at]}: {inspection.problem.sentence()}"
    if inspection.dropped is not None:
        return f"dropped by the trainer: {inspection.dropped}"
    return None
