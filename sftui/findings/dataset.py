"""What only the whole dataset can tell, gathered row by row with bounded memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from heapq import nsmallest
from typing import Any

from sftui.conversations.identity import identity, key_of, squeezed
from sftui.conversations.refusals import MEDIA_COLUMNS
from sftui.findings.context import Context
from sftui.findings.hashes import HASH, Hashes, hash_of, hashes_of
from sftui.findings.look import RowLook
from sftui.findings.words import LEAST_JUDGED, ends_whole
from sftui.model import DESIRABLE, SIDES, Inspection, Kind, Reason
from sftui.runs import covered
from sftui.trainers.base import Totals

LIMITS = (512, 1024, 2048, 4096, 8192, 16384, 32768)
"""The lengths in tokens for which is counted what cutting, dropping and packing there would take."""
REMEMBERED = 2_000_000
"""Conversations whose hashes are kept; later ones are no longer compared (see `Hashes`; 80 MB at most)."""
ROW = 5
"""Bytes of a row's number, the highest first: they then come in the order of the numbers."""
EXAMPLES = 5
EARLY, LONG = 3, 40
SPOKEN, LONGEST = (Kind.CHAT, Kind.STRINGS), 1 << 17
"""Rows that hold answers as texts, and the trained tokens from which on they are counted no more."""
MOST_COLUMNS, RARE, ENOUGH_ROWS = 500, 0.05, 20
_MEDIA = frozenset(MEDIA_COLUMNS)
_PAIR = ("user", "assistant")


@dataclass(slots=True)
class Tally:
    """How many rows show something, and the first of them."""

    count: int = 0
    rows: list[int] = field(default_factory=list)

    def add(self, row: int) -> None:
        self.count += 1
        if len(self.rows) < EXAMPLES:
            self.rows.append(row)

    def merge(self, other: Tally) -> None:
        self.count += other.count
        self.rows = sorted({*self.rows, *other.rows})[:EXAMPLES]


class DatasetChecks:
    """Gathers rows with `add`, joins the work of others with `merge`, and tells what it found with `finish`.

    Plain data inside, so it pickles to worker processes. Rows must not be added twice; in which order they come
    does not matter. `evaluation` are the `prompts` of a DatasetChecks that has seen the evaluation set. `lasting`: what
    recognises a row is the same in another run and on any machine, else only where rows are gathered together.
    """

    def __init__(
        self, context: Context, evaluation: Hashes | None = None, remembered: int = REMEMBERED, *, lasting: bool = False
    ) -> None:
        self.trainer = context.trainer
        self.recipe = context.recipe
        self.read_from = tuple(context.detected.fields.values())
        self.evaluation = Hashes() if evaluation is None else evaluation
        self.remembered = remembered
        self.same_row = identity if lasting else key_of
        self.totals = Totals()
        self.read = self.trained = self.refused = 0
        self.over, self.lost, self.lengths = Counter[int](), Counter[int](), Counter[int]()
        self.seen = Hashes(ROW)
        # Of each prompt the first row that asks it, with the hash of its answer; of each other answer its first row,
        # with the hash of its prompt.
        self.by_prompt = Hashes(ROW + HASH)
        self.others = Hashes(ROW + HASH)
        self.elsewhere = Tally()
        # Of preferences, by what their chosen and their rejected conversation are together, the first row and either.
        self.pairs = Hashes(ROW + 2 * HASH)
        self.longer = {name: Tally() for name in SIDES}
        self.compared = Counter[str]()
        self.same, self.leaked = Tally(), Tally()
        self.all_trained, self.few_trained, self.early, self.long_prompt = Tally(), Tally(), Tally(), Tally()
        self.some_turns, self.cut, self.stopped_short = Tally(), Tally(), Tally()
        self.columns: dict[str, Tally] = {}
        self.many_turns = self.unremembered = self.ended = self.judged = 0

    @property
    def prompts(self) -> Hashes:
        """The hashes of every prompt seen; give them to the checks of the training set to find a leak."""
        return self.by_prompt.alone()

    @property
    def again(self) -> Tally:
        """The first row of each answer to a prompt that an earlier row answers differently; repeated rows are
        `same`. Those that were found `elsewhere` count, too."""
        found = Tally(len(self.others), [number_of(one[:ROW]) for one in nsmallest(EXAMPLES, self.others.values())])
        found.merge(self.elsewhere)
        return found

    @property
    def answered_again(self) -> int:
        """How many rows `again` counts, without looking for the first of them."""
        return len(self.others) + self.elsewhere.count

    def add(self, look: RowLook) -> None:
        """One more row; a row that stopped early counts with what it has, one that evaluates is only compared."""
        inspection = look.inspection
        self.refused += inspection.problem is not None
        if not inspection.evaluates:
            self.totals.add(inspection)
        if inspection.conversation is None:
            return
        self._compare(look)
        if inspection.evaluates:
            return
        self.read += 1
        columns, row = self.columns, inspection.row.index
        for column in inspection.row.data or ():
            tally = columns.get(column)
            if tally is None and len(columns) < MOST_COLUMNS:
                tally = columns[column] = Tally()
            if tally is not None:
                tally.add(row)
        if inspection.tokens is not None and inspection.labels is not None:
            self._measure(look)

    def whole(self, inspection: Inspection) -> bytes | None:
        """8 bytes of what a trainer reads of the row, equal for rows that are the same to it; None where there is
        nothing."""
        return hash_of(self.same_row(inspection.row.data, self.read_from)) if inspection.row.data else None

    def _compare(self, look: RowLook) -> None:
        row, whole = look.inspection.row.index, self.whole(look.inspection)
        if whole is None:
            return
        prompt = _prompt_of(look)
        if prompt is not None and prompt[0] in self.evaluation:
            self.leaked.add(row)
        number = row.to_bytes(ROW, "big")
        if self._see(whole, number) is not None:
            self.same.add(row)
        if prompt is not None:
            self._ask(prompt[0], number + prompt[1])
        other = _prompt_of(look.sides[1]) if prompt is not None and len(look.sides) > 1 else None
        if prompt is not None and other is not None and prompt[1] != other[1] and len(self.pairs) < self.remembered:
            self._prefer(hash_of(prompt[1] + other[1]), number + prompt[1] + other[1])

    def _prefer(self, pair: bytes, row: bytes) -> None:
        """Two conversations, the chosen one first; of the same ones the earliest row stays."""
        before = self.pairs.add(pair, row)
        if before is not None and row < before:
            self.pairs.change(pair, row)

    def _see(self, whole: bytes, number: bytes) -> bytes | None:
        """The first row that was the same so far, None where there is none or no more are remembered."""
        room = len(self.seen) < self.remembered
        before = self.seen.add(whole, number) if room else self.seen.get(whole)
        if before is None:
            self.unremembered += not room
        elif number < before:
            self.seen.change(whole, number)
        return before

    def _ask(self, prompt: bytes, given: bytes) -> None:
        """A prompt with its row and answer: the earliest row stays in `by_prompt`, other answers go to `others`, but of
        preferences, which several rows may give to one prompt."""
        room = len(self.by_prompt) < self.remembered
        before = self.by_prompt.add(prompt, given) if room else self.by_prompt.get(prompt)
        if before is None:
            return
        if given < before:
            self.by_prompt.change(prompt, given)
        first, other = sorted((given, before))
        answer, later = other[ROW:], other[:ROW] + prompt
        if answer == first[ROW:] or not self.recipe.supervised:
            return
        self.others.discard(first[ROW:])
        known = self.others.get(answer)
        if known is None and len(self.others) < self.remembered:
            self.others.add(answer, later)
        elif known is not None and later < known:
            self.others.change(answer, later)

    def _measure(self, look: RowLook) -> None:
        row, ranges = look.inspection.row.index, look.mask.runs
        n, trained = look.mask.size, look.mask.trained
        masks = [side.mask for side in look.sides]
        self.trained += sum([mask.trained for mask in masks])
        longest = max([mask.size for mask in masks])
        for limit in LIMITS:
            if longest <= limit:
                break
            self.over[limit] += 1
            self.lost[limit] += sum([covered(mask.runs, limit) for mask in masks])
        if look.cut or (self.recipe.length.max is not None and longest > self.recipe.length.max):
            self.cut.add(row)
        if self.recipe.loss.objective == "kto" and look.labels.dropped is None:
            self.compared.update(str(side.conversation.extra.get(DESIRABLE)) for side in look.sides)
        if len(masks) > 1 and look.labels.dropped is None:
            scored = self.recipe.loss.objective == "reward"  # where one token of each carries the loss
            sizes = [mask.size if scored else mask.trained for mask in masks]
            self.compared.update(dict(zip((*SIDES, "rows"), (*sizes, 1))))
            if sizes[0] != sizes[1]:
                self.longer[SIDES[sizes[1] > sizes[0]]].add(row)
        if not trained:
            return
        if look.conversation.kind in SPOKEN:
            self._end(row, look.written[-1][1] if look.written else "", trained)
        if trained == n:
            self.all_trained.add(row)
        elif trained * 100 < n:
            self.few_trained.add(row)
        if n >= LONG:
            self.long_prompt.add(row)
            first = ranges[0][0] if ranges[0][0] <= EARLY else 0
            # A row that is trained as a whole has no prompt whose length could be taken wrong.
            if first and look.labels.reasons[first] is not Reason.WHOLE:
                self.early.add(row)
        turns = look.shape.turns_trained
        if turns is not None:
            self.many_turns += 1
            if not turns:
                self.some_turns.add(row)

    def _end(self, row: int, answer: str, trained: int) -> None:
        """How the last answer of a row ends, and how long its answers are."""
        if trained < LONGEST:
            self.lengths[trained] += 1
        whole = ends_whole(answer)
        self.judged += len(answer) >= LEAST_JUDGED
        self.ended += whole is True
        if whole is False:
            self.stopped_short.add(row)

    def merge(self, other: DatasetChecks) -> None:
        """Take in what another has gathered under the same recipe over other rows."""
        for name in ("totals", "read", "trained", "many_turns", "unremembered", "refused", "ended", "judged"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name, mine in vars(self).items():
            if isinstance(mine, Counter):
                mine.update(getattr(other, name))
            elif isinstance(mine, Tally):
                mine.merge(getattr(other, name))
        for mine, theirs in ((self.columns, other.columns), (self.longer, other.longer)):
            for name, tally in theirs.items():
                mine.setdefault(name, Tally()).merge(tally)
        for pair, row in other.pairs.items():
            self._prefer(pair, row)
        repeated = Tally()
        for whole, number in other.seen.items():
            before = self._see(whole, number)
            if before is not None:
                repeated.merge(Tally(1, [number_of(max(number, before))]))
        self.same.merge(repeated)
        for answer, later in other.others.items():
            known = self.others.add(answer, later)
            if known is not None and later < known:
                self.others.change(answer, later)
        for prompt, given in other.by_prompt.items():
            self._ask(prompt, given)


def _prompt_of(look: RowLook) -> tuple[bytes, bytes] | None:
    """What a row asks, with its media and tools, and that with its answer; white space aside. None where it asks
    nothing."""
    conversation, data = look.conversation, look.inspection.row.data
    roles, said, manner = look.read
    if conversation.kind is Kind.STRINGS:
        roles, said = _PAIR, (conversation.prompt or "", conversation.completion or "")
    elif not manner.plain:
        said = tuple([_said(message.data) for message in conversation.messages])
    answering = look.context.traits.answering
    asking = next((number for number, role in enumerate(roles) if role in answering), len(roles))
    if "user" not in roles[:asking]:
        return None
    whole = "".join(said)
    squeeze = str.strip if whole.isprintable() and "  " not in whole else squeezed
    turns = [f"{role}:{squeeze(content)}\0" for role, content in zip(roles, said)]
    prompt = "".join(turns[:asking]).encode("utf-8", "surrogatepass")
    more = {} if not data or _MEDIA.isdisjoint(data) else {name: data[name] for name in MEDIA_COLUMNS if data.get(name)}
    if conversation.tools:
        prompt += identity({**more, "tools": conversation.tools}, ()) if more else look.tools.identity
    elif more:
        prompt += identity(more, ())
    return hashes_of(prompt, "".join(turns[asking:]).encode("utf-8", "surrogatepass"))


def _said(message: Mapping[str, Any]) -> str:
    content, calls = message.get("content"), message.get("tool_calls")
    return content if type(content) is str and not calls else f"{content}{calls or ''}"


def number_of(given: bytes) -> int:
    """A row, or a hash as it stands in the marks of baselines, as a number."""
    return int.from_bytes(given, "big")
