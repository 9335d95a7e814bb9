"""Packs, looked at on a sample: what documents see of each other, and where they begin and end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sftui.errors import SftuiError
from sftui.findings.checks import Fault, setup_check
from sftui.findings.context import Context
from sftui.findings.model import Consequence
from sftui.findings.rule import GOOD, LONG, ROUNDS, TEXT, Rule, case, fatal, major, minor
from sftui.findings.rules.truncation import round_up
from sftui.model import IGNORE_INDEX, Example, Inspection, Pack
from sftui.text import visible_token
from sftui.trainers import trainer_named


def packs_of(
    context: Context, sample: Sequence[Inspection]
) -> tuple[tuple[Pack, ...], tuple[Inspection, ...], tuple[Example, ...]]:
    """The packs of the sample, and for each document its row and example; empty where nothing is packed."""
    if context.recipe.pack.strategy == "none":
        return (), (), ()
    rows, examples = [], []
    for one in sample:
        for example in one.examples:
            rows.append(one)
            examples.append(example)
    try:
        trainer = trainer_named(context.recipe.preset)
        packs = tuple(trainer.pack(examples, context.recipe, context.tools)) if examples else ()
    except SftuiError:
        return (), (), ()
    return packs, tuple(rows), tuple(examples)


PAC001 = major(
    "cross-contamination",
    "documents of a pack see each other",
    "Packed without a block mask or position ids that start anew, each document attends to the ones before it.",
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
    attention = context.recipe.batch.attention
    if packing.separates_by == "numbers" and attention == "doc_ids":
        return
    if apart and (packing.separates_by != "positions" or context.recipe.batch.flatten):
        return  # position ids keep documents apart only under FlashAttention; TRL warns and goes on without it
    yield Fault(
        f"documents packed with `{strategy}` attend to the ones before them"
        + (", unless FlashAttention is used" if apart else ""),
        f"packing_strategy: {strategy}",
        changes=packing.separate,
        title="set pack.strategy to bfd, and train with attn_implementation: flash_attention_2"
        if packing.separates_by == "positions"
        else "",
    )


PAC003 = major(
    "pack-fragments",
    "packing cuts documents in two",
    "Samples then begin in the middle of an answer, without header or BOS, or end without a stop token.",
    data="use a packing that keeps documents whole",
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
    "It is predicted from the last token of the document before.",
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
    "documents without any trained token take space in packs",
    "TRL's step that drops them is skipped when packing.",
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
    parts: list[int] = []
    first: list[int] = []
    open_ends: list[tuple[int, int]] = []
    masked: list[int] = []
    count = 0
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
        yield _reported(
            context, PAC003, f"{len(parts)} of {count} packed documents are only a part of their row", parts, changes
        )
    if first and not context.recipe.batch.flatten:  # the collator that flattens masks the first label of each document
        yield _reported(
            context, PAC004, f"the first token of {len(first)} of {count} packed documents is trained", first
        )
    if open_ends:
        token = open_ends[0][1]
        tokenizer = context.tools.tokenizer
        shown = visible_token(tokenizer.surface(token), tokenizer.piece(token))
        yield _reported(
            context,
            PAC006,
            f"{len(open_ends)} of {count} packed documents end with {shown} or the like, no stop token, and another"
            " follows",
            [row for row, _ in open_ends],
        )
    if masked:
        yield _reported(context, PAC007, f"{len(masked)} of {count} packed documents have no trained token", masked)


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


def _reported(
    context: Context, rule: Rule, sentence: str, rows: Sequence[int], changes: Sequence[tuple[str, object]] = ()
) -> Fault:
    places = tuple(dict.fromkeys(rows))
    return Fault(
        sentence, "rows " + ", ".join(map(str, places[:5])), changes=changes, rows=places, count=len(rows), rule=rule
    )
