"""Padding and packs: their tokens, what documents see of each other, where they begin and end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sftui.errors import RecipeError, SftuiError
from sftui.findings.checks import LABELLED, WRITTEN, Fault, row_check, setup_check
from sftui.findings.context import Context
from sftui.findings.look import RowLook, sign_of_special
from sftui.findings.model import Consequence
from sftui.findings.rule import GOOD, LONG, ROUNDS, TEXT, Rule, case, chat, fatal, info, loud, major, minor
from sftui.findings.rules.stored import LAB007
from sftui.findings.rules.truncation import round_up
from sftui.model import IGNORE_INDEX, NOWHERE, Example, Inspection, Pack, Part
from sftui.text import visible_token
from sftui.trainers import trainer_of
from sftui.trainers.base import pad_token_id


def _pad(context: Context) -> int | None:
    try:
        return pad_token_id(context.recipe, context.tools)[0]
    except RecipeError:
        return None


PAD004 = major(
    "pad-token-in-text",
    "the pad token appears inside the text",
    "Collators that mask by id hide real tokens.",
    data="use a reserved token for padding",
    bad=case(chat("hi", "so <|endoftext|> it goes")),
)


@row_check(
    LABELLED,
    PAD004,
    signs=lambda shape, context: (
        sign_of_special(shape, context) if context.facts.pad_id in context.tools.tokenizer.special_ids else ""
    ),
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
            what = f"the pad token {look.spelling.token(i)} appears inside the text"
            yield Fault(what, message=number if number >= 0 else None, tokens=(i - 2, i + 3))


def _may_be_in_text(look: RowLook) -> bool:
    """Whether the pad token is among the row's: where tokens are the text, cut, it then stands there in writing."""
    pad, tokenizer = look.facts.pad_id, look.context.tools.tokenizer
    if pad in tokenizer.special_ids and look.spelling.cut_out:
        return tokenizer.special_pieces[pad] in look.rendered.text and pad in look.tokens.input_ids
    return pad in look.tokens.input_ids


PAD001 = info(
    "pad-is-eos",
    "the pad token is the EOS token",
    "Harmless with a collator that pads labels separately, fatal with one that masks by id (EOS002).",
    bad=case(GOOD, tokenizer="llama3"),
)


PAD005 = loud(
    "pad-outside-embedding",
    "the pad id is outside the model's embedding",
    "Training crashes as soon as a batch has two rows.",
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
            f"config.json has pad_token_id {pad_id}, outside the model's {rows} embedding rows: most models do"
            " not load with it",
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
        what = f"the pad id {pad} is outside the model's {rows} embedding rows"
        yield Fault(what, f"{context.tools.tokenizer.piece(pad)} {pad}", rule=PAD005)


PAD003 = major(
    "left-padding",
    "rows are padded on the left for training",
    "Masks counted from the first column land on the wrong tokens, and position ids shift.",
    data="pad on the right",
    moves=("nowhere",),
    bad=case(GOOD, facts={"padding_side": "left"}),
)


@setup_check(PAD003)
def left_side(context: Context, sample: Sequence[Inspection]) -> Iterator[Fault]:
    side = context.recipe.batch.pad_side
    if (context.facts.padding_side if side == "tokenizer" else side) == "left" and not context.recipe.batch.flatten:
        what = "rows are padded on the left"
        yield Fault(what, f"padding_side: {context.facts.padding_side}", changes=[("batch.pad_side", "right")])


@setup_check(LAB007)
def pad_labels(context: Context, sample: Sequence[Inspection]) -> Iterator[Fault]:
    """LAB007 for the collator: padding gets a label that carries loss."""
    value = context.recipe.batch.labels_pad
    if value not in (IGNORE_INDEX, context.recipe.mask.ignore_index):
        what = f"padding gets the label {value} instead of the ignored value {context.recipe.mask.ignore_index}"
        yield Fault(what, f"labels_pad: {value}", changes=[("batch.labels_pad", context.recipe.mask.ignore_index)])


def packs_of(
    context: Context, sample: Sequence[Inspection]
) -> tuple[tuple[Pack, ...], tuple[Inspection, ...], tuple[Example, ...]]:
    """The packs of the sample, and for each document its row and example; empty where nothing is packed."""
    if context.recipe.pack.strategy == "none":
        return (), (), ()
    examples = [example for row in sample for example in row.examples]
    try:
        trainer = trainer_of(context.recipe)
        packs = tuple(trainer.pack(examples, context.recipe, context.tools)) if examples else ()
    except SftuiError:
        return (), (), ()
    return packs, tuple(row for row in sample for _ in row.examples), tuple(examples)


PAC001 = major(
    "cross-contamination",
    "documents in a pack see each other",
    "Without a block mask or position ids that restart, each packed document attends to those before it.",
    moves=("nowhere",),
    bad=case(GOOD, ROUNDS, preset="trl@1.16", changes={"pack.strategy": "wrapped"}),
    good=case(GOOD, ROUNDS, preset="trl@1.16"),
    more=(
        case(GOOD, ROUNDS, preset="llamafactory@0.9", changes={"pack.strategy": "knapsack"}),
        case(GOOD, ROUNDS, preset="trl@1.16", changes={"pack.strategy": "bfd"}),
        case(GOOD, ROUNDS, preset="unsloth@2026.10", changes={"pack.strategy": "wrapped"}),
    ),
)


@setup_check(PAC001)
def contamination(context: Context, sample: Sequence[Inspection]) -> Iterator[Fault]:
    """PAC001: the strategy keeps documents apart by no mask and no position ids."""
    strategy, packing = context.recipe.pack.strategy, context.traits.packing
    if strategy == "none" or context.recipe.pack.isolate:
        return
    apart = strategy in packing.separates
    if packing.separates_by == "numbers" and context.recipe.batch.attention == "doc_ids":
        return
    if apart and (packing.separates_by != "positions" or context.recipe.batch.flatten):
        return  # position ids keep documents apart only under FlashAttention; TRL warns and goes on without it
    unless = ", unless FlashAttention is used" if apart else ""
    what = f"documents packed with `{strategy}` attend to those before them{unless}"
    title = "set pack.strategy to bfd, and train with attn_implementation: flash_attention_2"
    title = title if packing.separates_by == "positions" else ""
    yield Fault(what, f"packing_strategy: {strategy}", changes=packing.separate, title=title)


PAC003 = major(
    "pack-fragments",
    "packing cuts documents in two",
    "Samples then begin in the middle of an answer, without a header or BOS, or end without a stop token.",
    data="use a packing strategy that keeps documents whole",
    moves=("nowhere",),
    bad=case(LONG, LONG, preset="trl@1.16", changes={"pack.strategy": "wrapped", "length.max": 100}),
    good=case(GOOD, GOOD, preset="trl@1.16", changes={"pack.strategy": "bfd"}),
    more=(
        case(
            LONG,
            GOOD,
            preset="trl@1.16",
            changes={"pack.strategy": "bfd_split", "length.max": 100, "pack.isolate": True, "batch.flatten": True},
        ),
    ),
)


PAC004 = minor(
    "first-token-trained",
    "the first token of a packed document is trained",
    "It is predicted from the last token of the previous document.",
    data="mask the first label of each document",
    bad=case(GOOD, GOOD, preset="trl@1.16", changes={"pack.strategy": "wrapped"}),
    good=case(GOOD, GOOD, preset="axolotl@0.19", changes={"pack.strategy": "multipack"}),
)


PAC006 = fatal(
    "no-stop-between-documents",
    "packed documents follow each other without a stop token",
    "The model learns to run on into another document.",
    data="append EOS to every document",
    leads_to=Consequence.UNSTOPPED,
    bad=case(TEXT, TEXT, preset="trl@1.16", changes={"pack.strategy": "wrapped", "tokenize.append_eos": "never"}),
    good=case(TEXT, TEXT, preset="trl@1.16", changes={"pack.strategy": "wrapped"}),
)


PAC007 = minor(
    "masked-document-in-pack",
    "documents without trained tokens take up space in packs",
    "With packing, TRL skips the step that would drop them.",
    data="drop those rows",
    bad=case(GOOD, GOOD, preset="trl@1.16", changes={"pack.strategy": "bfd"}, edit="masked"),
    good=case(GOOD, GOOD, preset="trl@1.16", changes={"pack.strategy": "bfd"}),
)


@setup_check(PAC003, PAC004, PAC006, PAC007)
def documents(context: Context, sample: Sequence[Inspection]) -> Iterator[Fault]:
    """PAC003, PAC004, PAC006 and PAC007, each counted over the documents of the sample's packs."""
    packs, rows, examples = packs_of(context, sample)
    if not packs:
        return
    parts, first, masked, count = list[int](), list[int](), list[int](), 0
    open_ends: list[tuple[int, int]] = []
    for pack in packs:
        several, at, labels = len(pack.documents) > 1, 0, pack.counted(IGNORE_INDEX)
        for index, start, end in pack.documents:
            if end <= start:
                continue
            count += 1
            row, example = rows[index].row.index, examples[index]
            place, at = at, at + end - start
            whole = start == 0 and end == len(example.input_ids)
            if not whole:
                parts.append(row)
            elif place > 0 and labels[place] != IGNORE_INDEX and not example.shifted:
                first.append(row)
            ids = _whole(example)
            if whole and several and at < len(pack.input_ids) and not _ends(context, ids):
                open_ends.append((row, ids[-1]))
            if all(label == IGNORE_INDEX for label in labels[place:at]):
                masked.append(row)
    strategy = context.recipe.pack.strategy
    if parts:
        unsplit = context.traits.packing.whole
        changes = list(unsplit) if ("pack.strategy", strategy) not in unsplit else []
        longest, limit = max(len(one.input_ids) for one in examples), context.recipe.length.max
        if unsplit and limit is not None and longest > limit:
            changes.append(("length.max", round_up(longest)))  # what does not fit into a pack is cut
        yield _reported(PAC003, f"{len(parts)} of {count} packed documents are only part of their row", parts, changes)
    if first and not context.recipe.batch.flatten:  # the collator that flattens masks the first label of each document
        yield _reported(PAC004, f"the first token of {len(first)} of {count} packed documents is trained", first)
    if open_ends:
        token = open_ends[0][1]
        tokenizer = context.tools.tokenizer
        shown = visible_token(tokenizer.surface(token), tokenizer.piece(token))
        yield _reported(
            PAC006,
            f"{len(open_ends)} of {count} packed documents end with {shown} or similar instead of a stop token,"
            " and another one follows",
            [row for row, _ in open_ends],
        )
    if masked:
        yield _reported(PAC007, f"{len(masked)} of {count} packed documents have no trained token", masked)


def _whole(example: Example) -> tuple[int, ...]:
    """The ids of a document, with the last one, which is a label alone where labels are stored shifted."""
    last = example.labels[-1:] if example.shifted else ()
    return example.input_ids if last in ((), (example.ignore_index,)) else (*example.input_ids, *last)


def _ends(context: Context, ids: Sequence[int]) -> bool:
    """Whether a document ends in a stop token, white space behind it aside."""
    tokenizer = context.tools.tokenizer
    for one in reversed(ids[-3:]):
        if one in context.stops:
            return True
        surface = tokenizer.surface(one)
        if not surface or surface.strip():
            return False
    return False


def _reported(rule: Rule, sentence: str, rows: Sequence[int], changes: Sequence[tuple[str, object]] = ()) -> Fault:
    places = tuple(dict.fromkeys(rows))
    return Fault(
        sentence, "rows " + ", ".join(map(str, places[:5])), changes=changes, rows=places, count=len(rows), rule=rule
    )
