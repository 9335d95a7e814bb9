"""The mask rules: which tokens are trained, and why, one pure function a rule.

Every rule returns one flag and one reason per token, as runs. A token belongs to the span in which its first
character lies, so a token that straddles a border counts to the left of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sftui.errors import RecipeError
from sftui.flat import Ranges
from sftui.model import IGNORE_INDEX, NOWHERE, Conversation, Kind, Part, Reason, Rendered, Tokens, Trained
from sftui.recipe import Mask
from sftui.runs import Runs, as_runs, joined, together
from sftui.values import value_class

Drawn = tuple[Runs[bool], Runs[Reason]]
Verdict = tuple[int, tuple[bool, Reason]]
"""So many tokens, trained or not, and why."""


@value_class
class Subject:
    """What a mask is drawn on."""

    tokens: Tokens
    rendered: Rendered
    conversation: Conversation

    @property
    def roles(self) -> tuple[str, ...]:
        return tuple(message.role for message in self.conversation.messages)


def draw(subject: Subject, options: Mask) -> Drawn:
    """The mask of one row by `options.rule`; RecipeError where the rule cannot apply to the row."""
    if subject.conversation.kind is Kind.TOKENS:
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
    if options.rule == "given":
        return given(subject, options)
    raise RecipeError(f"mask.rule {options.rule} belongs to a trainer's own preset", fix="choose that trainer's preset")


def drawn(parts: Iterable[Verdict]) -> Drawn:
    """A mask from its stretches, in order: what `joined` gives for either side, in one pass over every row."""
    trains: list[int] = []
    ends: list[int] = []
    flags: list[bool] = []
    reasons: list[Reason] = []
    at, before = 0, None
    for length, verdict in parts:
        if length <= 0:
            continue
        at += length
        if verdict == before:  # as the most are: both of its runs grow
            trains[-1] = ends[-1] = at
            continue
        before = on, why = verdict
        if flags and flags[-1] == on:
            trains[-1] = at
        else:
            trains.append(at)
            flags.append(on)
        if reasons and reasons[-1] is why:
            ends[-1] = at
        else:
            ends.append(at)
            reasons.append(why)
    return Runs(tuple(trains), tuple(flags)), Runs(tuple(ends), tuple(reasons))


def by_flags(flags: Sequence[bool], trained: Reason, masked: Reason) -> Drawn:
    """A mask of one flag a token, with one reason for what is trained and one for the rest."""
    runs = as_runs(flags)
    return runs, joined((end - start, trained if on else masked) for start, end, on in runs.runs())


def applied(flags: Runs[bool], values: Sequence[int]) -> tuple[int, ...]:
    """Labels: the value where a token is trained, else -100."""
    return tuple(_applied(values, trained(flags)))


def applied_to_ids(flags: Runs[bool], ids: Sequence[int]) -> Trained:
    """The same of a row's own ids, none of which is -100: it is then known where it is trained."""
    ranges = trained(flags)
    return Trained.of(_applied(ids, ranges), ranges)


def trained(flags: Runs[bool]) -> Ranges:
    """Where tokens are trained."""
    return tuple([(start, end) for start, end, on in flags.runs() if on])


def _applied(values: Sequence[int], ranges: Ranges) -> list[int]:
    labels = [IGNORE_INDEX] * len(values)
    for start, end in ranges:
        labels[start:end] = values[start:end]
    return labels


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
    n = len(subject.tokens)
    last = n > 0 and _appended(subject.tokens, n - 1)
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
    last = n > cut and _appended(tokens, n - 1)
    for start, end, _, part in together(tokens.messages, tokens.parts):
        if end <= cut:
            continue
        length = min(end, n - last) - max(start, cut)
        if part is Part.TERMINATOR:
            trains = options.terminator == "train"
            found.append((length, (trains, Reason.TERMINATOR if trains else Reason.TERMINATOR_OFF)))
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
    appended = len(tokens) > 0 and _appended(tokens, len(tokens) - 1)
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
    return drawn(
        (
            end - start,
            (owner in chosen, Reason.ASSISTANT)
            if owner in chosen
            else (False, Reason.EARLIER if owner in wanted else Reason.ROLE),
        )
        for start, end, owner in as_runs(tokens.messages).runs()
    )


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
                why="its first {% generation %} block is empty and nothing stands before it (OverflowError)",
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
            why=f"mask.rule {options.rule} needs messages to draw a mask",
            fix="set mask.rule to all, or give the messages",
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


def _appended(tokens: Tokens, i: int) -> bool:
    return tokens.placed and tokens.starts[i] == NOWHERE and i == len(tokens) - 1 and tokens.parts[i] is Part.INJECTED
