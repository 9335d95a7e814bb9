"""Tokens → Labels: truncation, weights, the batch, the mask rules, and the shift.

Every mask rule returns one flag and one reason per token, as runs. A token belongs to the span in which its first
character lies, so a token that straddles a border counts to the left of it.

Source of the batch: transformers 5.23, DataCollatorForSeq2Seq (data/data_collator.py, labels) and
tokenization_utils_base.py `_pad` (ids and attention mask): longest row or max length, rounded up to a multiple, on one
side; ids get the pad token, the attention mask 0, labels `labels_pad`, loss weights 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

from sftui.errors import RecipeError
from sftui.model import (
    IGNORE_INDEX,
    NOWHERE,
    Batch,
    Conversation,
    Example,
    Kind,
    Labels,
    Message,
    Pack,
    Part,
    Reason,
    RenderedText,
    Tokens,
    flat_example,
)
from sftui.recipe import Batch as BatchOptions
from sftui.recipe import Length, Mask, Recipe
from sftui.runs import Ranges, Runs, as_runs, clipped, cut, joined, labelled, moved, together
from sftui.text import many
from sftui.values import value_class

Kept = Ranges


def keep(count: int, options: Length) -> tuple[Kept, str | None]:
    """The token ranges that survive and, where the whole row goes, why.

    `cut_right` keeps the first `max` tokens, `cut_left` the last. RecipeError for a policy that
    only a trainer's own preset knows.
    """
    everything: Kept = ((0, count),)
    if count < options.min_tokens:
        return everything, f"{count} tokens, fewer than length.min_tokens {options.min_tokens}"
    if options.max is None or count <= options.max:
        return everything, None
    if options.over == "cut_right":
        return ((0, options.max),), None
    if options.over == "cut_left":
        return ((count - options.max, count),), None
    if options.over == "drop":
        return everything, f"{count} tokens, more than length.max {options.max}"
    if options.over == "error":
        raise RecipeError(
            f"the row has {count} tokens and the trainer stops at rows over length.max {options.max}",
            fix="raise length.max or remove the row",
        )
    raise RecipeError(
        f"length.over {options.over} is specific to one trainer's preset", fix="choose that trainer's preset"
    )


Pair = tuple[int, int]
"""Tokens of a source and of its target."""


def shares(source: int, target: int, room: int) -> Pair:
    """How many tokens of a source and its target are kept in `room` tokens, both from their start.

    A target under half the room is kept whole, else a source under half the room, else both are cut in proportion.
    """
    if target * 2 < room:
        most = room
    elif source * 2 < room:
        most = room - source
    else:
        most = int(room * (target / (source + target)))
    kept = min(most, target)
    return min(max(room - kept, 0), source), kept


def proportional(pairs: Sequence[Pair], cutoff: int | None, *, reserved: int, last_first: bool) -> list[Pair]:
    """The kept tokens of each pair of a prompt and its answer, in order; pairs that find no room keep (0, 0).

    Source: llamafactory 0.9.5, data/processor/processor_utils.py `infer_seqlen`.

    `reserved` tokens are taken beforehand (the final EOS). `last_first` serves the last pair first.
    """
    if cutoff is None:
        return list(pairs)
    kept = [(0, 0)] * len(pairs)
    total = reserved
    order = range(len(pairs))
    for i in reversed(order) if last_first else order:
        if total >= cutoff:
            break
        kept[i] = shares(*pairs[i], cutoff - total)
        total += sum(kept[i])
    return kept


def within(kept: Kept, values: Sequence[int]) -> tuple[int, ...]:
    """The values inside the kept ranges, in order."""
    if len(kept) == 1:
        return tuple(values[kept[0][0] : kept[0][1]])
    return tuple(value for start, end in kept for value in values[start:end])


USUAL = 1.0
"""The weight of a message that says none."""
NO_LOSS = 0.0
"""The weight of what is masked, and of padding."""


def by_message(flags: Runs[bool], messages: Sequence[int], given: Sequence[Message]) -> Runs[float]:
    """Each trained token's weight is that of its message, 1 where the message says none; what is masked weighs 0.

    `flags` and `messages` run along the tokens; a token of no message (an appended EOS) weighs 1.
    """
    said = [USUAL if message.weight is None else message.weight for message in given]
    return joined(
        (end - start, (said[owner] if 0 <= owner < len(said) else USUAL) if on else NO_LOSS)
        for start, end, on, owner in together(flags, messages)
    )


def weights_within(kept: Kept, weights: Runs[float] | None) -> Runs[float] | None:
    """The weights inside the kept ranges, in order; None where there are none."""
    if weights is None or kept == ((0, len(weights)),):
        return weights
    return joined((b - a, weight) for start, end in kept for a, b, weight in clipped(weights, start, end))


def weights_joined(stretches: Iterable[tuple[Example, int, int]], padding: int = 0) -> Runs[float] | None:
    """The weights of stretches of examples end to end, and of so much padding behind them; None where none has any.

    A stretch of an example without weights counts as it does elsewhere: 1 for each token.
    """
    taken = list(stretches)
    if all(example.weights is None for example, _, _ in taken):
        return None
    parts: list[tuple[int, float]] = []
    for example, start, end in taken:
        weights = example.weights or Runs((end,), (USUAL,))
        parts += [(b - a, weight) for a, b, weight in clipped(weights, start, end)]
    return joined([*parts, (padding, NO_LOSS)])


def weights_padded(
    rows: Sequence[Runs[float] | None], width: int, side: str = "right"
) -> tuple[Runs[float], ...] | None:
    """The weights of the rows of a rectangle, 0 at padding; None where not every row has some."""
    made: list[Runs[float]] = []
    for row in rows:
        if row is None:
            return None
        gap = (width - len(row), NO_LOSS)
        parts = [(end - start, weight) for start, end, weight in row.runs()]
        made.append(joined([gap, *parts] if side == "left" else [*parts, gap]))
    return tuple(made)


MOST_POSITIONS = 1 << 24
"""Positions of a batch that is shown; 64 rows of 131,072 tokens are half as many."""


def collate(
    examples: Sequence[Example],
    rows: Sequence[int],
    options: BatchOptions,
    *,
    pad_id: int | None,
    padding_side: str,
    max_length: int | None = None,
    width: int | None = None,
    notes: tuple[str, ...] = (),
) -> Batch:
    """Pad examples to one rectangle, of `width` where that is not as usual; `padding_side` is the tokenizer's,
    `options.pad_side` may override it."""
    side = padding_side if options.pad_side == "tokenizer" else options.pad_side
    lengths = tuple(len(example.input_ids) for example in examples)
    width = padded_width(lengths, options, max_length) if width is None else width
    refuse_too_large(len(examples), width)
    if pad_id is None and any(length != width for length in lengths):
        raise RecipeError(
            "the batch cannot be padded",
            why="the tokenizer has no pad token",
            fix="set tokenizer.pad_token, or batch.pad_token to auto",
        )

    def pad(values: Sequence[int], filler: int) -> tuple[int, ...]:
        gap = (filler,) * (width - len(values))
        return (*gap, *values) if side == "left" else (*values, *gap)

    return Batch(
        rows=tuple(rows),
        lengths=lengths,
        input_ids=tuple(pad(example.input_ids, pad_id or 0) for example in examples),
        labels=tuple(pad(example.labels, options.labels_pad) for example in examples),
        attention_mask=tuple(pad(one.attention_mask, 0) for one in examples) if options.attention != "none" else None,
        pad_side=side,
        notes=notes,
        weights=weights_padded([example.weights for example in examples], width, side),
    )


Stretches = Sequence[tuple[Example, int, int]]
"""Examples with the range of tokens that is taken of each."""


def columns_of(stretches: Stretches) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """The ids and the labels of stretches, one behind the other, and position ids from 0 in each."""
    return (
        tuple(chain.from_iterable(example.input_ids[start:end] for example, start, end in stretches)),
        tuple(chain.from_iterable(example.labels[start:end] for example, start, end in stretches)),
        tuple(chain.from_iterable(range(end - start) for _, start, end in stretches)),
    )


def end_to_end(examples: Sequence[Example], rows: Sequence[int], note: str) -> Batch:
    """Rows one behind the other as one, with position ids from 0 in each and no attention mask; RecipeError as of
    `refuse_too_large`."""
    stretches = [(example, 0, len(example.input_ids)) for example in examples]
    lengths = tuple(length for _, _, length in stretches)
    refuse_too_large(1, sum(lengths))
    (ids, labels, places), weights = columns_of(stretches), weights_joined(stretches)
    return Batch(
        rows=tuple(rows),
        lengths=lengths,
        input_ids=(ids,),
        labels=(labels,),
        attention_mask=None,
        position_ids=(places,),
        notes=(note,),
        weights=None if weights is None else (weights,),
    )


def stacked(packs: Sequence[Pack]) -> Batch:
    """Packs of one length as rows, with their position ids and no attention mask."""
    return Batch(
        rows=tuple(range(len(packs))),
        lengths=tuple(sum(end - start for _, start, end in pack.documents) for pack in packs),
        input_ids=tuple(pack.input_ids for pack in packs),
        labels=tuple(pack.labels for pack in packs),
        attention_mask=None,
        position_ids=tuple(pack.position_ids or () for pack in packs),
    )


def examples_of(tokens: Tokens, labels: Labels, recipe: Recipe) -> tuple[Example, ...]:
    """What is stored of a row that becomes an example for each range that is kept."""
    made = (example(tokens, replace(labels, kept=(kept,)), recipe) for kept in labels.kept)
    return tuple(one for one in made if one is not None)


def pack_of(rows: Iterable[tuple[int, Example]], size: int = 0, pad_id: int = 0) -> Pack:
    """Whole rows, each with its number, as one pack: position ids from 0 in each, and the attention mask numbers them
    from 1; padded to `size` with the mask and position ids 0."""
    rows = list(rows)
    stretches = [(example, 0, len(example.input_ids)) for _, example in rows]
    ids, labels, places = columns_of(stretches)
    gap = max(size - len(ids), 0)
    numbers = chain.from_iterable([number] * length for number, (_, _, length) in enumerate(stretches, 1))
    return Pack(
        tuple((index, 0, length) for (index, _), (_, _, length) in zip(rows, stretches)),
        (*ids, *[pad_id] * gap),
        (*labels, *[IGNORE_INDEX] * gap),
        (*places, *[0] * gap),
        (*numbers, *[0] * gap),
        weights=weights_joined(stretches, gap),
    )


def refuse_too_large(rows: int, width: int) -> None:
    """RecipeError where so many rows of so many positions are more than can be shown."""
    if rows * width > MOST_POSITIONS:
        raise RecipeError(
            "the batch is too large to show",
            why=f"{many(rows, 'row')} of {width:,} positions are more than {MOST_POSITIONS:,}",
            fix="lower batch.multiple, batch.size or length.max",
        )


def padded_width(lengths: Sequence[int], options: BatchOptions, max_length: int | None) -> int:
    """How many positions each row of the batch has."""
    width = max(lengths, default=0)
    if options.pad_to == "max" and max_length is not None:
        width = max_length
    if options.multiple:
        width = -(-width // options.multiple) * options.multiple
    return width


Drawn = tuple[Runs[bool], Runs[Reason]]
Verdict = tuple[int, tuple[bool, Reason]]
"""So many tokens, trained or not, and why."""


@value_class
class Subject:
    """What a mask is drawn on."""

    tokens: Tokens
    rendered: RenderedText
    conversation: Conversation

    @property
    def roles(self) -> tuple[str, ...]:
        return tuple(message.role for message in self.conversation.messages)


def draw(subject: Subject, options: Mask) -> Drawn:
    """The mask of one row by `options.rule`; RecipeError where the rule cannot apply to the row."""
    if subject.conversation.kind is Kind.TOKENS or options.rule == "given":
        return given(subject, options)
    if options.rule == "all":
        return whole(subject)
    if options.rule == "completion":
        return completion(subject, options)
    if options.rule == "assistant":
        return assistant(subject, options)
    if options.rule == "turn_full":
        return turn_full(subject, options)
    if options.rule == "generation_tag":
        return generation_tag(subject)
    raise RecipeError(
        f"mask.rule {options.rule} is specific to one trainer's preset", fix="choose that trainer's preset"
    )


def drawn(parts: Iterable[Verdict]) -> Drawn:
    """A mask from its stretches, in order."""
    found = list(parts)
    return joined([(length, on) for length, (on, _) in found]), joined([(length, why) for length, (_, why) in found])


def answered(tokens: Tokens, start: int, end: int, reason: Reason) -> Iterator[Verdict]:
    """The mask of an answer that is trained for one reason, its end by its name where it is known who wrote what."""
    if not tokens.placed:
        yield end - start, (True, reason)
        return
    for first, behind, part in as_runs(tokens.parts[start:end]).runs():
        yield behind - first, (True, Reason.TERMINATOR if part is Part.TERMINATOR else reason)


def by_flags(flags: Sequence[bool], trained: Reason, masked: Reason) -> Drawn:
    """A mask of one flag a token, with one reason for what is trained and one for the rest."""
    runs = as_runs(flags)
    return runs, joined((end - start, trained if on else masked) for start, end, on in runs.runs())


def applied(flags: Runs[bool], values: Sequence[int]) -> tuple[int, ...]:
    """Labels: the value where a token is trained, else -100."""
    labels = [IGNORE_INDEX] * len(values)
    for start, end in trained(flags):
        labels[start:end] = values[start:end]
    return tuple(labels)


def trained(flags: Runs[bool]) -> Ranges:
    """Where tokens are trained."""
    return tuple([(start, end) for start, end, on in flags.runs() if on])


def both(first: Drawn, second: Drawn) -> Drawn:
    """What both masks train; a token that the first one masks keeps its reason."""
    pairs = together(_verdicts(first), _verdicts(second))
    return drawn((end - start, other if mine[0] else mine) for start, end, mine, other in pairs)


def outside(mask: Drawn, kept: Sequence[tuple[int, int]], reason: Reason = Reason.TRUNCATED) -> Drawn:
    """The same mask with nothing trained outside ranges that are in order."""
    size = len(mask[0])
    if list(kept) == [(0, size)]:
        return mask
    found: list[Verdict] = []
    verdicts, at = _verdicts(mask), 0
    for start, end in kept:
        found.append((start - at, (False, reason)))
        found += ((b - a, one) for a, b, one in verdicts[start:end].runs())
        at = max(at, end)
    return drawn([*found, (size - at, (False, reason))])


def _verdicts(mask: Drawn) -> Runs[tuple[bool, Reason]]:
    return joined((end - start, (on, why)) for start, end, on, why in together(*mask))


def whole(subject: Subject) -> Drawn:
    """Everything is trained."""
    n, last = len(subject.tokens), _appended(subject.tokens)
    if n and not last:
        return Runs((n,), (True,)), Runs((n,), (Reason.WHOLE,))
    return drawn([(n - last, (True, Reason.WHOLE)), (int(last), (True, Reason.APPENDED))])


def completion(subject: Subject, options: Mask) -> Drawn:
    """What comes after the prompt is trained.

    `prompt_length` masks the first min(len(prompt_ids), len(input_ids)) positions, as the
    tutorials do; `common_prefix` masks only what both tokenizations share (TRL ≥ 1.15,
    trl/data_utils.py). A row without a prompt, plain text, is trained as a whole.
    """
    tokens = subject.tokens
    boundary = tokens.boundary
    if boundary is None:
        return whole(subject)
    n, shared = len(tokens), boundary.common
    cut = shared if options.boundary == "common_prefix" else min(boundary.prompt_length, n)
    found: list[Verdict] = [
        (min(shared, cut), (False, Reason.PROMPT)),
        (cut - min(shared, cut), (False, Reason.BOUNDARY)),
    ]
    if not tokens.placed:
        return drawn([*found, (n - cut, (True, Reason.COMPLETION))])
    last = n > cut and _appended(tokens)
    for start, end, _, part in together(tokens.messages, tokens.parts):
        if end <= cut:
            continue
        length = min(end, n - last) - max(start, cut)
        if part is Part.TERMINATOR:
            found.append((length, _inside_turn(part, options)))
        elif part is Part.SEPARATOR and options.trailing == "mask":
            found.append((length, (False, Reason.TRAILING)))
        else:
            found.append((length, (True, Reason.COMPLETION)))
    return drawn([*found, (int(last), (True, Reason.APPENDED))])


def assistant(subject: Subject, options: Mask) -> Drawn:
    """The messages of `options.roles`: their content, and terminator and trailing space by choice."""
    tokens, roles = subject.tokens, subject.roles
    if subject.conversation.kind is not Kind.CHAT:
        raise RecipeError(
            "mask.rule assistant needs messages",
            why=f"this row is {subject.conversation.kind.value}",
            fix="set mask.rule to all or completion",
        )
    wanted = {i for i, role in enumerate(roles) if role in options.roles}
    last = max(wanted, default=NOWHERE)
    chosen = {last} if options.turns == "last" else wanted
    appended = _appended(tokens)
    found: list[Verdict] = []
    for start, end, owner, part in together(tokens.messages, tokens.parts):
        verdict = (False, Reason.ROLE)
        if owner in wanted and owner not in chosen:
            verdict = (False, Reason.EARLIER)
        elif owner in chosen:
            verdict = _inside_turn(part, options)
        found.append((min(end, len(tokens) - appended) - start, verdict))
    return drawn([*found, (int(appended), (bool(chosen), Reason.APPENDED))])


def turn_full(subject: Subject, options: Mask) -> Drawn:
    """Whole messages of `options.roles`, header included (torchtune masks by message)."""
    tokens, roles = subject.tokens, subject.roles
    wanted = {i for i, role in enumerate(roles) if role in options.roles}
    chosen = {max(wanted)} if options.turns == "last" and wanted else wanted
    found: list[Verdict] = []
    for start, end, owner in as_runs(tokens.messages).runs():
        masked = Reason.EARLIER if owner in wanted else Reason.ROLE
        found.append((end - start, (True, Reason.ASSISTANT) if owner in chosen else (False, masked)))
    return drawn(found)


def generation_tag(subject: Subject) -> Drawn:
    """The `{% generation %}` spans, mapped to tokens by transformers' own rule, its quirks included.

    transformers, tokenization_utils_base.py, apply_chat_template. Since 5.24: every token that overlaps a span. Up to
    5.23: a span goes from char_to_token(start) to char_to_token(end - 1); no token at the start ends the whole search,
    and an end that is missing or token 0 trains everything to the end of the row. RecipeError there for a span that
    ends at character 0: it asks for character -1, and the run ends in an OverflowError.
    """
    if not subject.rendered.has_generation_tag:
        raise RecipeError(
            "mask.rule generation_tag trains nothing here",
            why="the chat template has no {% generation %} tag",
            fix="use a template with the tag, or mask.rule assistant",
        )
    mask = _overlapping(subject) if subject.rendered.overlapping else _searched(subject)
    return by_flags(mask, Reason.GENERATION, Reason.NOT_GENERATION)


def _overlapping(subject: Subject) -> list[bool]:
    """Both in order, in one pass: a span that ended before a token is not looked at again (transformers 5.24)."""
    tokens, spans = subject.tokens, iter(subject.rendered.generation)
    mask = [False] * len(tokens)
    span = next(spans, None)
    for i, (start, end) in enumerate(zip(tokens.starts, tokens.ends)):
        begins, ends = (0, 0) if start == NOWHERE else (start, end)
        while span is not None and begins >= span[1]:
            span = next(spans, None)
        if span is None:
            break
        mask[i] = ends > span[0]
    return mask


def _searched(subject: Subject) -> list[bool]:
    """By the first and the last character of each span, as before transformers 5.24."""
    tokens, rendered = subject.tokens, subject.rendered
    n = len(tokens)
    mask = [False] * n
    first_at = char_index(tokens)
    for start, end in rendered.generation:
        if end == 0:
            raise RecipeError(
                "transformers stops the run at this row",
                why="its first {% generation %} block is empty and nothing comes before it (OverflowError)",
                fix="remove the row, or let the template write something before the block",
            )
        first, last = first_at.get(start), first_at.get(end - 1)
        if first is None:
            break
        for i in range(first, last + 1 if last else n):
            mask[i] = True
    return mask


def given(subject: Subject, options: Mask) -> Drawn:
    """The labels that the data brings; rows of ids without labels are trained only by rule `all`."""
    conversation = subject.conversation
    if conversation.labels is None:
        if options.rule == "all":
            return whole(subject)
        raise RecipeError(
            "the row has input_ids but no labels",
            why=f"mask.rule {options.rule} needs messages to compute a mask",
            fix="set mask.rule to all, or provide messages",
        )
    mask = [label != options.ignore_index for label in conversation.labels]
    return by_flags(mask, Reason.GIVEN, Reason.GIVEN_MASKED)


def char_index(tokens: Tokens) -> dict[int, int]:
    """Character → the first token that covers it, as `Encoding.char_to_token` answers."""
    found: dict[int, int] = {}
    for i, (start, end) in enumerate(zip(tokens.starts, tokens.ends)):
        if start == NOWHERE:
            continue
        for char in range(start, end):
            found.setdefault(char, i)
    return found


def _inside_turn(part: Part, options: Mask) -> tuple[bool, Reason]:
    if part is Part.CONTENT:
        return True, Reason.ASSISTANT
    if part is Part.TERMINATOR:
        on = options.terminator == "train"
        return on, Reason.TERMINATOR if on else Reason.TERMINATOR_OFF
    if part is Part.SEPARATOR:
        on = options.trailing == "train" and options.terminator == "train"
        return on, Reason.ASSISTANT if on else Reason.TRAILING
    return False, Reason.HEADER


def _appended(tokens: Tokens) -> bool:
    """Whether the last token was appended, and stands for no text."""
    placed = tokens.placed and len(tokens) > 0
    return placed and tokens.starts[-1] == NOWHERE and tokens.parts[-1] is Part.INJECTED


UNLABELLED = "no trained token is left"


def label(tokens: Tokens, rendered: RenderedText, conversation: Conversation, recipe: Recipe) -> Labels:
    """One label and one reason per token, what survives truncation, and why a row is dropped.

    Labels are un-shifted. With loss.weights `float` each token has its message's weight; one that weighs 0 is given
    as masked by it. RecipeError where the recipe's rule cannot apply to the row.
    """
    mask, reasons = draw(Subject(tokens, rendered, conversation), recipe.mask)
    kept, dropped = keep(len(tokens), recipe.length)
    may_drop = dropped is None and recipe.length.drop_unlabelled
    notes = () if rendered.exact else ("the author of each token is a best guess here",)
    stored = conversation.kind is Kind.TOKENS
    weights: Runs[float] | None = None
    if recipe.loss.weights == "float":
        given_weights = conversation.extra.get("loss_weights") if stored else None
        weights = as_runs(given_weights) if given_weights else by_message(mask, tokens.messages, conversation.messages)
        reasons = weightless(reasons, mask, weights)
    values = conversation.labels if stored else None
    labels = on_ids(tokens, (mask, reasons), kept, dropped, notes, weights, values)
    return replace(labels, dropped=UNLABELLED) if may_drop and not moved(labels.carrying, kept) else labels


def on_ids(
    tokens: Tokens,
    mask: Drawn,
    kept: Ranges,
    dropped: str | None = None,
    notes: tuple[str, ...] = (),
    weights: Runs[float] | None = None,
    stored: Sequence[int] | None = None,
) -> Labels:
    """Labels that are the row's own ids where a mask trains them; or those that the data brings, of which -100 is none,
    whatever the mask says."""
    if stored is None:
        return Labels(tokens.ids, trained(mask[0]), mask[1], kept, dropped, notes, weights)
    return Labels(stored, labelled(applied(mask[0], stored)), mask[1], kept, dropped, notes, weights)


def dropped_labels(tokens: Tokens, why: str) -> Labels:
    """Labels of a row that never reaches the mask: nothing is trained, and why."""
    n = len(tokens)
    return Labels(tokens.ids, (), (Reason.PROMPT,) * n, ((0, n),), dropped=why)


def weightless(reasons: Runs[Reason], mask: Runs[bool], weights: Runs[float]) -> Runs[Reason]:
    """The reasons, with what a mask trains and a weight of 0 takes out of the loss given as such."""
    off = joined((end - start, on and weight == 0) for start, end, on, weight in together(mask, weights))
    return joined((end - start, Reason.WEIGHT if none else why) for start, end, why, none in together(reasons, off))


def unshifted(tokens: Tokens, labels: Labels) -> Example:
    """What is left of a row whose labels are not shifted and carry no weights, as arrays where they came so."""
    if labels.values is tokens.ids:
        return flat_example(cut(labels.kept, tokens.ids), moved(labels.ranges, labels.kept))
    ids = within(labels.kept, tokens.input_ids)
    return Example(ids, within(labels.kept, labels.labels), (1,) * len(ids))


def example(tokens: Tokens, labels: Labels, recipe: Recipe, attention: tuple[int, ...] | None = None) -> Example | None:
    """What the trainer receives for the row; None where it is dropped.

    Cut first, then shifted: `preshifted` drops the last input and the first label, so that
    `labels[i]` is what must be predicted from `input_ids[i]`. Weights go with the labels.
    """
    if labels.dropped is not None:
        return None
    ignore = recipe.mask.ignore_index
    bare = attention is None and labels.weights is None and labels.values is tokens.ids
    if bare and ignore == IGNORE_INDEX and recipe.loss.shift == "internal":
        return unshifted(tokens, labels)
    ids = within(labels.kept, tokens.input_ids)
    values = within(labels.kept, labels.labels)
    if ignore != IGNORE_INDEX:
        values = tuple(ignore if v == IGNORE_INDEX else v for v in values)
    mask = within(labels.kept, attention) if attention is not None else (1,) * len(ids)
    weights = weights_within(labels.kept, labels.weights)
    if shifted := recipe.loss.shift != "internal":
        ids, values, mask, weights = ids[:-1], values[1:], mask[:-1], weights[1:] if weights is not None else None
    return Example(ids, values, mask, shifted, ignore, weights)
