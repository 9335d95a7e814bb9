"""Rows that bring their own ids, labels and masks; ids beside those that the tokenizer makes of their own text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from operator import eq
from typing import Any, NamedTuple, TypeGuard

from sftui.conversations.tensors import LATE
from sftui.conversations.tokenized import ENOUGH_POSITIONS, alignment
from sftui.findings.checks import (
    CHATS,
    CONVERSATION,
    LABELLED,
    SLOW,
    STOPPED,
    TOKENIZED,
    Fault,
    of_kind,
    row_check,
    setup_check,
)
from sftui.findings.context import Context
from sftui.findings.look import RowLook, quoted
from sftui.findings.model import Consequence, Severity
from sftui.findings.rule import DROP, GOOD, IDS, ROUNDS, SAMPLED, STORED, case, fatal, loud, major, stored_case
from sftui.model import IGNORE_INDEX, Inspection, Kind, Stage, common_prefix
from sftui.text import many
from sftui.tokens import LoadedTokenizer
from sftui.trainers.traits import Quirk

_LOW, _KEPT, _SURE = 0.5, 0.8, 0.95


LAB003 = fatal(
    "double-shift",
    "the labels are already shifted and the model shifts them again",
    "labels[i] is the next token, and the model's loss shifts once more: the model learns the token after the next.",
    data="store labels aligned with input_ids; the model shifts them",
    leads_to=Consequence.MISALIGNED,
    moves=("row",),
    bad=stored_case({"input_ids": IDS, "labels": [-100] * 3 + IDS[4:] + [-100]}),
    good=stored_case(STORED),
)


LAB008 = fatal(
    "labels-unrelated",
    "trained labels do not match the ids in any alignment",
    "They match neither the id at the same position nor its neighbours, or the mask begins one token late: columns"
    " are misaligned, or the labels come from another tokenizer.",
    data="regenerate the labels",
    leads_to=Consequence.MISALIGNED,
    bad=stored_case({"input_ids": IDS, "labels": [i + 500 for i in IDS]}),
    good=stored_case(STORED),
)


@row_check(LABELLED, LAB003, LAB008, kinds=TOKENIZED)
def shifted(look: RowLook) -> Iterator[Fault]:
    """LAB003 and LAB008 by the alignment score (P6): as stored, before sftui moved anything back."""
    conversation = look.conversation
    if conversation.labels is None:
        return
    if conversation.extra.get("given_labels") == LATE:
        first = next((i for i, label in enumerate(conversation.labels) if i and label != IGNORE_INDEX), None)
        if first is not None:
            what = "the stored mask is shifted one position to the right: each answer's first token is masked"
            yield Fault(what, tokens=(first - 1, first + 6), rule=LAB008)
        return
    if look.recipe.loss.shift != "internal" or look.recipe.data.given_labels == "shifted":
        return
    ids, labels = conversation.input_ids, conversation.labels
    found = alignment([(ids, labels)])
    if "shifted" in (conversation.extra.get("given_labels"), found.convention):
        what = "the stored labels are shifted by one, and the model shifts them again"
        yield Fault(what, tokens=(0, 8), changes=[("data.given_labels", "shifted")], rule=LAB003)
    elif found.positions >= ENOUGH_POSITIONS and max(found.unshifted, found.shifted) < _LOW:
        before = sum(1 for i in range(1, len(ids)) if labels[i] != IGNORE_INDEX and labels[i] == ids[i - 1])
        if before >= _SURE * found.positions:
            what = "the stored labels are shifted one position to the right: each is the previous id"
            yield Fault(what, tokens=(0, 8), rule=LAB008)
        elif before < _LOW * found.positions:
            first = next(i for i, label in enumerate(labels) if label != IGNORE_INDEX and label != ids[i])
            yield Fault(
                f"{found.unshifted:.0%} of the trained labels equal the id at the same position and"
                f" {found.shifted:.0%} the next one",
                tokens=(first, first + 6),
                rule=LAB008,
            )


LAB020 = major(
    "shift-unclear",
    "it is unclear whether the stored labels are shifted",
    "Most labels suggest one alignment and some the other, mostly where the documents of a pack meet. sftui"
    " does not guess: it shows them as stored, and reports nothing that depends on the answer.",
    data="store labels aligned with input_ids, or -100 where documents meet",
    moves=("row",),
    bad=case({"input_ids": IDS * 3, "labels": [*IDS[1:], 999] * 3}, changes={"mask.rule": "given"}),
    good=case({"input_ids": IDS * 3, "labels": [*IDS[1:], -100] * 3}, changes={"mask.rule": "given"}),
    more=(case({"input_ids": IDS * 3, "labels": [999, *IDS[1:]] * 3}, changes={"mask.rule": "given"}),),
)


@setup_check(LAB020)
def unclear_shift(context: Context, sample: Sequence[Inspection]) -> Iterator[Fault]:
    """LAB020: many positions tell how labels stand to ids, and they contradict each other."""
    if context.detected.given_labels != "unknown":
        return
    rows = of_kind(sample, Kind.TOKENS, lambda row: row.labels is not None)
    stored = [(one.input_ids, one.labels or ()) for row in rows if (one := row.conversation) is not None]
    found = alignment(stored)
    likely, most = max(("unshifted", found.unshifted), ("shifted", found.shifted), key=lambda one: one[1])
    if found.positions < ENOUGH_POSITIONS or most < _KEPT:
        return
    ahead = int(likely == "shifted")
    misses = [
        (ids, at)
        for ids, labels in stored
        for at in range(len(ids) - 1)
        if labels[at] != IGNORE_INDEX and labels[at] != ids[at + ahead] and ids[at] != ids[at + 1]
    ]
    borders = sum(not at or not context.stops.isdisjoint(ids[max(0, at - 2) : at + 3]) for ids, at in misses)
    where = " where documents meet" if borders >= _SURE * len(misses) else ""
    yield Fault(
        f"{found.shifted:.1%} of the trained labels equal the next id and {found.unshifted:.1%} the one at the same"
        f" position: they look {likely}, but {many(len(misses), 'label')}{where} disagree",
        quoted(misses[0][0][max(0, misses[0][1] - 3) : misses[0][1] + 3], context.tools.tokenizer) if misses else "",
        None if ahead else Severity.INFO,
        changes=[("data.given_labels", likely)],
        of=rows,
    )


LAB005 = loud(
    "label-out-of-range",
    "a label is not a token id",
    "It is negative but not the ignored value, or larger than the vocabulary: the loss fails with a CUDA assert.",
    data="use -100 for masked positions",
    bad=stored_case({"input_ids": IDS, "labels": [-1] * 4 + IDS[4:]}),
    good=stored_case(STORED),
)


@row_check(LABELLED, LAB005, kinds=TOKENIZED)
def out_of_range(look: RowLook) -> Iterator[Fault]:
    labels = look.conversation.labels
    if labels is None:
        return
    size, ignored = max(look.facts.vocab_size, look.context.model_rows or 0), look.recipe.mask.ignore_index
    wrong = [i for i, label in enumerate(labels) if label != ignored and not 0 <= label < size]
    if wrong:
        first, label = wrong[0], labels[wrong[0]]
        what = f"is not the value that the loss ignores, {ignored}" if label == IGNORE_INDEX else "is not a token id"
        more = f"; {len(wrong)} labels are out of range" if len(wrong) > 1 else ""
        yield Fault(f"label {label} at position {first} {what}{more}", tokens=(first, first + 1))


LAB007 = major(
    "pad-trained",
    "padding is trained",
    "Labels at positions with attention 0, or at padding, are not masked: most of the loss goes into predicting"
    " padding.",
    data="mask the labels at padding",
    moves=("nowhere",),
    bad=stored_case({"input_ids": [*IDS, 2, 2], "labels": [*IDS, 2, 2], "attention_mask": [1] * 40 + [0, 0]}),
    good=stored_case({"input_ids": [*IDS, 2, 2], "labels": [*IDS, -100, -100], "attention_mask": [1] * 40 + [0, 0]}),
    more=(case(GOOD, ROUNDS, changes={"batch.labels_pad": 0}),),
)


PAD002 = major(
    "attention-from-ids",
    "the attention mask was derived from the ids",
    "It is zero wherever the pad id appears, including at real tokens inside the row, which the model then cannot see.",
    data="derive the mask from lengths",
    bad=stored_case({"input_ids": [300, 2, 301, 302], "labels": [300, 2, 301, 302], "attention_mask": [1, 0, 1, 1]}),
    good=stored_case({"input_ids": [300, 2, 301, 302], "labels": [300, 2, 301, 302], "attention_mask": [1, 1, 1, 1]}),
)


PAD006 = major(
    "attention-is-a-copy",
    "the attention mask is a copy of another column",
    "It contains ids, or is 0 where labels are masked, so the model sees the answer without the question."
    " Trainers that build their own mask ignore it.",
    data="derive the mask from lengths",
    leads_to=Consequence.GARBLED,
    bad=stored_case({**STORED, "attention_mask": IDS}),
    good=stored_case({**STORED, "attention_mask": [1] * 40}),
    more=(stored_case({**STORED, "attention_mask": [0] * 4 + [1] * 36}),),
)
_HIDDEN = 3
"""So many different ids are no padding."""


@row_check(LABELLED, PAD006, kinds=TOKENIZED)
def copied(look: RowLook) -> Iterator[Fault]:
    """PAD006: the mask is the ids, or says of each position what the labels say; padding hides one id alone."""
    mask, ids, labels = look.conversation.attention_mask, look.conversation.input_ids, look.conversation.labels
    if not mask or len(mask) != len(ids) or mask.count(1) == len(mask):
        return
    hidden = {token for token, seen in zip(ids, mask) if not seen}
    if len(set(mask)) >= _HIDDEN and sum(map(eq, mask, ids)) >= _SURE * len(ids):
        yield Fault("the attention mask is a copy of the ids", tokens=(0, 6))
    elif labels is not None and len(hidden) >= _HIDDEN and mask == tuple([int(one != IGNORE_INDEX) for one in labels]):
        at = mask.index(0)
        what = f"the attention mask is 0 at {mask.count(0)} tokens, exactly those whose labels are masked"
        yield Fault(what, tokens=(at, at + 6))


@row_check(LABELLED, LAB007, PAD002, kinds=TOKENIZED, several=True)
def attention(look: RowLook) -> Iterator[Fault]:
    """LAB007 and PAD002."""
    mask, ids = look.conversation.attention_mask or (), look.conversation.input_ids
    hides = 0 in mask and len(mask) == len(look.tokens)
    trained = (i for i, drawn in enumerate(look.mask.drawn) if drawn)
    wrong = [i for i in trained if i >= look.padding or (hides and not mask[i])]
    if wrong:
        what = f"{len(wrong)} padded positions are trained"
        yield Fault(what, tokens=(wrong[0], min(wrong[-1] + 1, wrong[0] + 6)), rule=LAB007)
    if not hides:
        return
    first, last = mask.index(1) if 1 in mask else 0, len(mask) - 1 - mask[::-1].index(1) if 1 in mask else 0
    holes = [i for i in range(first, last) if not mask[i]]
    if len({ids[i] for i in holes}) == 1 and all(not mask[i] for i, one in enumerate(ids) if one == ids[holes[0]]):
        what = f"{len(holes)} real {look.spelling.token(holes[0])} inside the row have attention 0"
        yield Fault(what, tokens=(holes[0], holes[0] + 1), rule=PAD002)


PAC002 = major(
    "positions-not-reset",
    "position ids do not restart at each document",
    "The pack separates its documents, but a document after the first does not start at position 0.",
    data="restart position ids at each document",
    bad=stored_case({**STORED, "seq_lengths": [20, 20], "position_ids": list(range(40))}),
    good=stored_case({**STORED, "seq_lengths": [20, 20], "position_ids": [*range(20), *range(20)]}),
)


@row_check(LABELLED, PAC002, kinds=TOKENIZED)
def positions(look: RowLook) -> Iterator[Fault]:
    """PAC002: a packed row whose position ids do not start anew where its `seq_lengths` say a document begins."""
    lengths, places = look.conversation.extra.get("seq_lengths"), look.conversation.extra.get("position_ids")
    if not isinstance(lengths, (list, tuple)) or not isinstance(places, (list, tuple)) or len(lengths) < 2:
        return
    if not all(type(length) is int and length > 0 for length in lengths) or sum(lengths) != len(places):
        return
    wrong = [at for at in (0, *accumulate(lengths[:-1])) if places[at] != 0]
    if wrong:
        what = f"{len(wrong)} of {len(lengths)} packed documents do not start at position 0"
        yield Fault(what, tokens=(wrong[0], wrong[0] + 4))


LAB011 = major(
    "mask-column-ignored",
    "the row has a mask column that this trainer does not read",
    "completion_mask, assistant_masks or loss_mask accompany the ids, but there are no labels.",
    data="store labels instead",
    bad=case({"input_ids": IDS, "completion_mask": [0] * 10 + [1] * 30}, changes={"mask.rule": "all"}),
    good=case({"input_ids": IDS}, changes={"mask.rule": "all"}),
)


@row_check(
    LABELLED, LAB011, recipe=lambda context: Quirk.READS_MASK_COLUMNS not in context.traits.quirks, kinds=TOKENIZED
)
def mask_column(look: RowLook) -> Iterator[Fault]:
    """LAB011: a mask without labels, in a trainer that reads labels only."""
    masks = [name for name in ("completion_mask", "assistant_masks", "loss_mask") if name in look.conversation.extra]
    for name in masks if look.conversation.labels is None else ():
        yield Fault(f"the row has `{name}` and no labels, and this trainer does not read it", name)


@row_check(CONVERSATION, LAB011, kinds=TOKENIZED)
def mask_column_refused(look: RowLook) -> Iterator[Fault]:
    if look.inspection.stopped_at is Stage.LABELS and mask_column.fits(look.context, look.shape):
        yield from mask_column.faults(look)


TOK004 = fatal(
    "ids-of-another-tokenizer",
    "stored ids come from another tokenizer",
    "Decoding and encoding them again gives different ids: a cache made for model A is used to train model B.",
    data="tokenize again with this model's tokenizer",
    repair=(DROP,),
    leads_to=Consequence.MISALIGNED,
    bad=stored_case(
        {"input_ids": [(i * 7919) % 256 + 3 for i in range(60)], "labels": [(i * 7919) % 256 + 3 for i in range(60)]}
    ),
    good=case(GOOD),
)


@row_check(SLOW, TOK004, kinds=TOKENIZED)
def other_tokenizer(look: RowLook) -> Iterator[Fault]:
    """TOK004: the ids spell a text that this tokenizer cuts at other places."""
    ids = look.conversation.input_ids
    if len(ids) < 24:
        return
    surfaces = look.spelling.surfaces
    again = look.encoded_again
    if tuple(again.ids) == ids:
        return
    whole, broken = b"".join(surfaces), look.rendered.text.count("\ufffd")
    if broken and whole.decode("utf-8", "ignore").encode() != whole:
        if broken > len(ids) * 0.05:
            what = f"the {len(ids)} ids spell {broken} broken characters: they come from another tokenizer"
            yield Fault(what, tokens=(0, 8))
        return
    mine = set(accumulate(len(surface.decode("utf-8", "replace")) for surface in surfaces))
    theirs = set(again.ends)
    borders_kept = len(mine & theirs) / max(1, len(mine))
    # The same text cut elsewhere now and then is a joint between pieces; cut elsewhere everywhere it is another
    # vocabulary.
    if borders_kept < _KEPT and len(again.ids) != len(ids):
        yield Fault(
            f"encoded again, the {len(ids)} ids become {len(again.ids)}, and only {borders_kept:.0%} of the token"
            " boundaries match",
            tokens=(0, 8),
        )


@row_check(STOPPED, TOK004, kinds=TOKENIZED)
def foreign_id(look: RowLook) -> Iterator[Fault]:
    """TOK004 where an id is beyond the vocabulary."""
    size = look.facts.vocab_size
    for token in look.conversation.input_ids if look.inspection.stopped_at in (Stage.TOKENS, Stage.RENDERED) else ():
        if token >= size:
            yield Fault(f"id {token} is outside this tokenizer's {size} tokens", str(token))


CFG001 = fatal(
    "stale-cache",
    "stored ids differ from what the recipe produces now",
    "The row contains both messages and ids, and they differ: the ids come from a cache made with a different"
    " template, tokenizer or setting.",
    data="tokenize again",
    leads_to=Consequence.MISALIGNED,
    bad=case({**GOOD, "input_ids": IDS}, changes={"mask.rule": "all"}),
)


@row_check(
    SLOW,
    CFG001,
    shape=lambda shape, _: shape.ids or shape.kind is Kind.TOKENS,
    recipe=lambda context: context.template is not None,
    kinds=(Kind.TOKENS, Kind.CHAT),
)
def stale(look: RowLook) -> Iterator[Fault]:
    """CFG001: the row holds messages and ids, and they do not fit."""
    data = look.inspection.row.data or {}
    if look.stored:
        tools = data.get("tools")
        beside, listed = look.messages_beside, tools if isinstance(tools, list) else None
        text = look.context.render(beside, tools=listed) if beside else None
        if text is None:
            return
        fresh: Sequence[int] = look.context.ids(text)
        held: Sequence[int] = look.conversation.input_ids
    else:
        ids = data.get("input_ids")
        if not isinstance(ids, (list, tuple)) or not ids:
            return
        fresh, held = look.tokens.input_ids, ids
    at = common_prefix(fresh, held)
    # A cut or padded row is no other row; one more BOS or EOS at an edge is a setting, and reported by its own code.
    if at >= min(len(fresh), len(held)) - 1:
        return
    # The same text in other ids is not of another setting (TOK006).
    if known_ids(held, look.facts.vocab_size) and places(held, fresh, look.context.tools.tokenizer):
        return
    what = f"the stored ids differ from what the recipe produces after {at} of {len(held)} tokens"
    yield Fault(what, tokens=(at - 2, at + 4))


LAB004 = fatal(
    "shift-convention-mismatch",
    "stored labels follow another trainer's convention",
    "torchtune 0.7 and tinker store shifted labels; transformers does not. Moving a cached dataset between them shifts"
    " labels twice or not at all.",
    data="convert the dataset with `sftui encode`",
    leads_to=Consequence.MISALIGNED,
    moves=("nowhere",),
    bad=stored_case(STORED, changes={"loss.shift": "preshifted", "data.given_labels": "auto"}),
    good=stored_case(STORED),
)


@setup_check(LAB004)
def convention(context: Context, sample: Sequence[Inspection]) -> Iterator[Fault]:
    """LAB004: the loop does not shift, and the stored labels are not shifted either."""
    if context.recipe.loss.shift != "preshifted" or context.detected.given_labels != "unshifted":
        return
    stored = of_kind(sample, Kind.TOKENS)
    if stored:
        what = "the stored labels are not shifted, and this trainer's loss does not shift them"
        yield Fault(what, "labels[i] == input_ids[i]", Severity.ERROR, of=stored, changes=[("loss.shift", "internal")])


ENOUGH, MOST = 24, 0.2
"""Of so many ids no more than this share may change, else another tokenizer made them (TOK004)."""
_WORDS = [452, 1910, 978, 274, 1202, 77, 277, 78, 87, 11, 298, 1088, 273, 259, 1449, 343, 1089, 13]
"""Plain words, as the bundled ChatML tokenizer writes them; its first token is `The`."""


class DriftPlace(NamedTuple):
    """A stretch of the same bytes in other ids: half-open ranges of the ids that are held and of those made anew."""

    held: tuple[int, int]
    anew: tuple[int, int]


def places(held: Sequence[int], anew: Sequence[int], tokenizer: LoadedTokenizer) -> list[DriftPlace] | None:
    """Where two ways to write a text in ids part, between the borders that both have, up to the end of the shorter one;
    None where they do not write the same bytes."""
    mine, theirs = (tokenizer.describe(ids)[1] for ids in (held, anew))
    shorter, longer = sorted((b"".join(mine), b"".join(theirs)), key=len)
    if not longer.startswith(shorter):
        return None
    found: list[DriftPlace] = []
    i = j = from_i = from_j = here = there = 0
    while (i < len(held) and here <= there) or (j < len(anew) and there < here):
        if here <= there:
            here, i = here + len(mine[i]), i + 1
        else:
            there, j = there + len(theirs[j]), j + 1
        if here == there:
            if tuple(held[from_i:i]) != tuple(anew[from_j:j]):
                found.append(DriftPlace((from_i, i), (from_j, j)))
            from_i, from_j = i, j
    return found


TOK006 = major(
    "retokenization-drift",
    "stored ids change when their text is encoded again",
    "A model can sample ids that the tokenizer would not produce for the same text. Anything that encodes the"
    " text again (a trainer that reads the messages, an environment that sends text back) trains on different ids from"
    " those sampled.",
    data="train on the stored ids, and remove the accompanying text from the rows",
    bad=stored_case({"input_ids": [51, 71, 68, *_WORDS[1:]], "labels": [51, 71, 68, *_WORDS[1:]]}),
    good=stored_case({"input_ids": _WORDS, "labels": _WORDS}),
    more=(case({**GOOD, "input_ids": SAMPLED}, preset="axolotl@0.19"),),
)


@row_check(SLOW, TOK006, kinds=TOKENIZED)
def drifted(look: RowLook) -> Iterator[Fault]:
    """TOK006 of ids that are trained as they are stored: worth knowing, since nobody encodes them again here.

    A border between what is trained and what is not may lie where the tokenizer has none: a model that answers a prompt
    begins there, too. A text that is cut anew everywhere is of another tokenizer (TOK004).
    """
    held, tokenizer = look.conversation.input_ids, look.context.tools.tokenizer
    anew = tuple(look.encoded_again.ids)
    if anew == held:
        return
    drawn = look.mask.drawn
    found = [place for place in places(held, anew, tokenizer) or () if len(set(drawn[slice(*place.held)])) == 1]
    if not found or (len(held) >= ENOUGH and sum(end - start for (start, end), _ in found) > MOST * len(held)):
        return
    trained = sum(drawn[drift_place.held[0]] for drift_place in found)
    where = f"{trained} of them trained" if len(found) > 1 else f"which is {'trained' if trained else 'masked'}"
    yield Fault(
        f"encoded again, its text gets different ids {times(len(found))}, {where}",
        f"{look.spelling.quote(*found[0].held)} → {quoted(anew[slice(*found[0].anew)], tokenizer)}",
        tokens=found[0].held,
        severity=Severity.INFO,
    )


@row_check(SLOW, TOK006, shape=lambda shape, _: shape.ids, kinds=CHATS)
def encoded_again(look: RowLook) -> Iterator[Fault]:
    """TOK006 of a row whose messages are encoded though it brings ids: others are trained than those it holds."""
    held = (look.inspection.row.data or {}).get("input_ids")
    if not known_ids(held, look.facts.vocab_size):
        return
    tokenizer, anew = look.context.tools.tokenizer, look.tokens.input_ids
    found = places(held, anew, tokenizer)
    if not found:
        return
    (start, end), own = found[0]
    what = f"the row has ids, but its messages encode to different ones {times(len(found))}"
    yield Fault(what, f"{quoted(held[start:end], tokenizer)} → {look.spelling.quote(*own)}", tokens=own)


def known_ids(value: Any, size: int) -> TypeGuard[Sequence[int]]:
    """Whether a value is a list of ids of a vocabulary of this size."""
    listed = isinstance(value, (list, tuple)) and bool(value)
    return listed and all([type(one) is int and 0 <= one < size for one in value])


def times(count: int) -> str:
    """`at one place`, `at 3 places`."""
    return "in one place" if count == 1 else f"in {count} places"
