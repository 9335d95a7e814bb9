"""Padding: its token, its side, and whether the text holds it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sftui.findings.checks import LABELLED, WRITTEN, Fault, row_check, setup_check
from sftui.findings.context import Context
from sftui.findings.look import RowLook
from sftui.findings.rule import GOOD, case, chat, info, loud, major
from sftui.findings.rules.stored import LAB007
from sftui.model import IGNORE_INDEX, NOWHERE, Inspection, Part
from sftui.trainers.base import pad_token_id


def _pad(context: Context) -> int | None:
    from sftui.errors import RecipeError

    try:
        return pad_token_id(context.recipe, context.tools)[0]
    except RecipeError:
        return None


PAD004 = major(
    "pad-token-in-text",
    "the pad token stands inside the text",
    "Collators that mask by id hide real tokens.",
    data="use a reserved token to pad",
    bad=case(chat("hi", "so <|endoftext|> it goes")),
)


@row_check(
    LABELLED,
    PAD004,
    row=lambda look: _may_be_in_text(look),
    recipe=lambda context: context.facts.pad_id not in (None, context.facts.eos_id),
    kinds=WRITTEN,
)
def pad_in_text(look: RowLook) -> Iterator[Fault]:
    """PAD004: the pad token stands inside a message; a pad that is EOS or unknown at the same time is EOS002's."""
    pad = look.facts.pad_id
    for i, one in enumerate(look.tokens.input_ids):
        if one == pad and look.tokens.parts[i] is Part.CONTENT and look.tokens.starts[i] != NOWHERE:
            number = look.tokens.messages[i]
            yield Fault(
                f"the pad token {look.spelling.token(i)} stands inside the text",
                message=number if number >= 0 else None,
                tokens=(max(0, i - 2), i + 3),
            )


def _may_be_in_text(look: RowLook) -> bool:
    """Whether the pad token is among the row's: where tokens are the text, cut, it then stands there in writing."""
    pad, tokenizer = look.facts.pad_id, look.context.tools.tokenizer
    if pad in tokenizer.special_ids and look.spelling.cut_out:
        return tokenizer.special_pieces[pad] in look.rendered.text and pad in look.tokens.input_ids
    return pad in look.tokens.input_ids


PAD001 = info(
    "pad-is-eos",
    "the pad token is the EOS token",
    "Harmless with a collator that pads labels on its own, fatal with one that masks by id (EOS002).",
    bad=case(GOOD, tokenizer="llama3"),
)


PAD005 = loud(
    "pad-outside-embedding",
    "the pad id is larger than the model's embedding",
    "It crashes as soon as a batch has two rows.",
    data="use a token that exists",
    bad=case(GOOD, model_config={"vocab_size": 100}),
    good=case(GOOD, model_config={"vocab_size": 100_000}),
)


@setup_check(PAD001, PAD005)
def pad_token(context: Context, sample: Sequence[Inspection]) -> Iterator[Fault]:
    """PAD001 and PAD005."""
    pad, rows = _pad(context), context.model_rows
    pad_id = (context.model_config or {}).get("pad_token_id")
    if rows is not None and type(pad_id) is int and pad_id >= rows:
        yield Fault(
            f"config.json has the pad_token_id {pad_id}, outside the model's {rows} embedding rows: most models do not"
            " load with it",
            f"pad_token_id: {pad_id}",
            rule=PAD005,
        )
    if pad is None:
        return
    if pad == context.facts.eos_id:
        yield Fault(
            f"the pad token is the EOS token {context.facts.eos_token}", str(context.facts.eos_token), rule=PAD001
        )
    if rows is not None and pad >= rows:
        yield Fault(
            f"the pad id {pad} is outside the model's {rows} embedding rows",
            f"{context.tools.tokenizer.piece(pad)} {pad}",
            rule=PAD005,
        )


PAD003 = major(
    "left-padding",
    "rows are padded on the left for training",
    "Masks that count from the first column land on the wrong tokens, and position ids move.",
    data="pad on the right",
    moves=("nowhere",),
    bad=case(GOOD, facts={"padding_side": "left"}),
)


@setup_check(PAD003)
def left_side(context: Context, sample: Sequence[Inspection]) -> Iterator[Fault]:
    side = context.recipe.batch.pad_side
    if (context.facts.padding_side if side == "tokenizer" else side) == "left" and not context.recipe.batch.flatten:
        yield Fault(
            "rows are padded on the left",
            f"padding_side: {context.facts.padding_side}",
            changes=[("batch.pad_side", "right")],
        )


@setup_check(LAB007)
def pad_labels(context: Context, sample: Sequence[Inspection]) -> Iterator[Fault]:
    """LAB007 for the collator: padding gets a label that carries loss."""
    value = context.recipe.batch.labels_pad
    if value not in (IGNORE_INDEX, context.recipe.mask.ignore_index):
        yield Fault(
            f"padding gets the label {value}, which is not the ignored value {context.recipe.mask.ignore_index}",
            f"labels_pad: {value}",
            changes=[("batch.labels_pad", context.recipe.mask.ignore_index)],
        )
