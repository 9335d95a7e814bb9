"""Sets of preferences: what many rows teach together, and rows against each other."""

from __future__ import annotations

from collections.abc import Iterator
from math import erfc, sqrt

from sftui.findings.checks import Fault, dataset_check
from sftui.findings.dataset import EXAMPLES, ROW, DatasetChecks, Tally, number_of
from sftui.findings.hashes import HASH, Hashes, hash_of
from sftui.findings.model import Severity
from sftui.findings.rule import Case, info, major, minor
from sftui.findings.rules.preference import pair, pairs
from sftui.model import SIDES
from sftui.text import share
from sftui.trainers import trainer_of
from sftui.trainers.pairs import BatchPartnerTrainer, PartnerTrainer

PRF010 = major(
    "preferences-contradict",
    "rows contradict each other",
    "Two rows have the same prompt and the same two answers, with chosen and rejected swapped. They cancel each other.",
    data="keep the right one of the two rows, or drop both",
    inherent=True,
    bad=pairs(pair("Paris.", "Lyon."), pair("Lyon.", "Paris.")),
    good=pairs(pair("Paris.", "Lyon."), pair("Paris.", "Nice."), pair("Paris.", "Lyon.")),
)
PRF011 = info(
    "chosen-elsewhere-rejected",
    "an answer is chosen in one row and rejected in another",
    "Normal for rows made from a ranking of three or more answers. If each prompt has two answers, it is a mistake.",
    data="look at the rows",
    inherent=True,
    bad=pairs(pair("Paris.", "Lyon."), pair("Lyon.", "Nice.")),
    good=pairs(pair("Paris.", "Lyon."), pair("Paris.", "Nice.")),
)


@dataset_check(PRF010, PRF011)
def against_each_other(checks: DatasetChecks) -> Iterator[Fault]:
    """PRF010 and PRF011, of the first row of each two sides."""
    swapped, refused, both = list[int](), Hashes(), list[int]()
    for one in checks.pairs.values():
        refused.add(one[ROW + HASH :])
    for one in checks.pairs.values():
        chosen, rejected = one[ROW : ROW + HASH], one[ROW + HASH :]
        if hash_of(rejected + chosen) in checks.pairs:
            swapped.append(number_of(one[:ROW]))
        elif chosen in refused:
            both.append(number_of(one[:ROW]))
    for rule, rows, what in (
        (PRF010, swapped, "have the same prompt and answers as another row, with the sides swapped"),
        (PRF011, both, "choose an answer that another row rejects for the same prompt"),
    ):
        if rows:
            sentence = f"{len(rows):,} of {checks.totals.rows:,} rows {what}"
            yield Fault(sentence, tally=Tally(len(rows), sorted(rows)[:EXAMPLES]), rule=rule)


PRF012 = major(
    "length-bias",
    "one side is longer in most rows",
    "The model then learns length instead of quality: DPO sums the log-probabilities of all tokens of a side, and its"
    " models are known to write longer and longer answers. It is a warning if one side is longer in 7 of 10 rows and by"
    " 20 % on average.",
    data="drop the rows whose sides differ most in length, or add rows whose chosen side is shorter",
    inherent=True,
    bad=pairs(*[pair(f"It is {n}, as all of us know well by now.", f"No {n}.") for n in range(60)]),
    good=pairs(*[pair(*(f"It is {n}, I think.", "No.")[:: 1 - n % 2 * 2]) for n in range(60)]),
)
_ROWS, _CHANCE, _MOST, _MUCH, _LONGER = 50, 0.001, 0.6, 0.7, 1.2
"""Rows with sides of different lengths, how likely it is by chance at most, from which part of them on it is reported,
and from which part and which ratio of the mean lengths on it is a warning."""


@dataset_check(PRF012)
def longer_side(checks: DatasetChecks) -> Iterator[Fault]:
    """PRF012: a sign test (two-sided, by the normal distribution with a correction for continuity) over the rows whose
    sides differ in length."""
    counts = [checks.longer[name].count for name in SIDES]
    differ, most, rows = sum(counts), max(counts), checks.compared["rows"]
    if differ < _ROWS or most < _MOST * differ or erfc((most - differ / 2 - 0.5) / sqrt(differ / 2)) > _CHANCE:
        return
    name, other = SIDES if counts[0] == most else SIDES[::-1]
    longer, shorter = checks.compared[name], checks.compared[other]
    grave = most >= _MUCH * differ and longer >= _LONGER * shorter
    yield Fault(
        f"the {name} side is longer in {share(most, rows)} of rows: {longer / rows:.0f} tokens on average,"
        f" against {shorter / rows:.0f} on the {other} side",
        f"longer in {most:,}, shorter in {differ - most:,}, equal in {rows - differ:,} of {rows:,} rows",
        severity=None if grave else Severity.INFO,
        tally=checks.longer[name],
    )


def _judged(*labels: bool, batch_size: int = 8) -> Case:
    rows = [{"prompt": f"Is it {n}?", "completion": f" Yes, {n}.", "label": label} for n, label in enumerate(labels)]
    return Case(rows, preset="trl@1.16", changes={"loss.objective": "kto", "batch.size": batch_size})


PRF013 = minor(
    "labels-out-of-balance",
    "desirable and undesirable answers are out of balance",
    "KTO's authors advise that the weight of the desirable answers times their number is 1 to 1.33 times that of the"
    " others. sftui does not read the weights of a config. Without one of the two kinds, which is a warning, nothing is"
    " compared.",
    data="add answers of the rarer kind, or set their weight in the loss",
    inherent=True,
    bad=_judged(True, False, False, False),
    good=_judged(True, True, False, False),
    more=(_judged(True, True),),
)
_BALANCED = 1.33


@dataset_check(PRF013)
def out_of_balance(checks: DatasetChecks) -> Iterator[Fault]:
    """PRF013: equation 8 of KTO (Ethayarajh et al., 2024) with weights of 1; kto_trainer.py of TRL 1.16 warns so."""
    wanted, others = checks.compared["True"], checks.compared["False"]
    if wanted + others > 1 and not others <= wanted <= _BALANCED * others:
        what, counts = f"{wanted:,} of {wanted + others:,} answers are desirable", f"{wanted:,} : {others:,}"
        if not wanted * others:
            yield Fault(what, counts, Severity.WARNING)
            return
        least = others / wanted
        weight = f"{least:.2f} to {_BALANCED * least:.2f} times that of the undesirable ones"
        yield Fault(f"{what}: their weight in the loss should be {weight}", counts)


PRF015 = minor(
    "kto-lone-partner",
    "the last answer is its own KL partner",
    "KTO compares what an answer gains with what the answers of other rows gain. A last batch of one answer compares it"
    " with itself: its loss stays the same however well the model learns it. That is so on one GPU; with"
    " dataloader_drop_last the trainer skips the batch.",
    data="drop or add a row, or choose another batch size",
    inherent=True,
    bad=_judged(True, False, True, True, False, batch_size=2),
    good=_judged(True, False, True, False, batch_size=2),
)


@dataset_check(PRF015)
def without_partner(checks: DatasetChecks) -> Iterator[Fault]:
    """PRF015: of the answers that a trainer puts together (trl 1.16.0, kto_trainer.py, its collator; LLaMA-Factory
    0.9.5, data/processor/feedback.py, rows that are mapped at once)."""
    trainer, recipe = trainer_of(checks.recipe), checks.recipe
    if isinstance(trainer, BatchPartnerTrainer):
        answers = checks.compared["True"] + checks.compared["False"]
    elif isinstance(trainer, PartnerTrainer) and trainer.held_out(recipe) is None:
        answers = checks.totals.rows
    else:
        return
    size = trainer.together(recipe)
    if size > 1 and answers % size == 1:
        sentence = f"of {answers:,} answers, taken {size:,} at a time, the last has no other for a KL partner"
        yield Fault(sentence, f"{answers:,} = {answers // size:,} × {size:,} + 1")
