"""What only the whole dataset can tell, from what `dataset` gathered row by row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sftui import trainers
from sftui.findings.checks import BY_PROMPT, Fault, dataset_check, setup_check
from sftui.findings.context import Context
from sftui.findings.dataset import EARLY, ENOUGH_ROWS, EXAMPLES, LIMITS, RARE, DatasetChecks, Tally, number_of
from sftui.findings.look import shown
from sftui.findings.rule import GOOD, IDS, LONG, ROUNDS, Case, case, chat, fatal, info, loud, major, minor
from sftui.model import Inspection
from sftui.recipe import get
from sftui.text import many, share
from sftui.trainers.traits import Effect

RUN002 = loud(
    "run-stops",
    "the run stops before its first step, regardless of the rows",
    "A config key, or a combination of two settings, makes the trainer raise an error. sftui shows the rows as they"
    " would be without that error.",
    data="remove the key, or set it to a value that the trainer accepts",
    bad=case(GOOD, preset="verl@0.9", changes={"batch.flatten": False}),
)


@setup_check(RUN002)
def stops_at_once(context: Context, sample: Sequence[Inspection]) -> Iterator[Fault]:
    return (Fault(stop) for stop in context.tools.stops)


RUN001 = fatal(
    "nothing-is-trained",
    "the run trains nothing: every row is dropped or masked, or there are too few",
    "If no row is left, each trainer stops with its own message (Unsloth as soon as it masks). If all"
    " rows are masked, TRL, Axolotl and a plain loop run to the end and learn nothing. mlx-lm stops if there are too"
    " few rows to fill a batch.",
    data="fix what drops or masks the rows; the findings on single rows name the cause",
    bad=case({"input_ids": [300, 301, 302], "labels": [-100] * 3}, changes={"mask.rule": "given"}),
)


@dataset_check(RUN001)
def outcome(checks: DatasetChecks) -> Iterator[Fault]:
    """RUN001. Rows that stop the trainer are reported themselves, where they stand."""
    trainer, rows = trainers.trainer_of(checks.recipe), checks.totals.rows
    stop = None if checks.refused else trainer.stop_of(checks.recipe, checks.totals)
    if stop is not None:
        yield Fault(stop, tally=Tally(rows, list(range(min(rows, EXAMPLES)))))


DUP001 = minor(
    "duplicates",
    "duplicate rows",
    "They are identical in everything that is trained, including media, tools and flags; invisible whitespace is"
    " ignored. Such rows are trained twice and leak between train/eval splits.",
    data="remove all but one",
    repair=("deduplicate",),
    bad=case(GOOD, GOOD),
    good=case(GOOD, chat("hi", "Hello.")),
)


@dataset_check(DUP001, parts=lambda _, repeated: map(number_of, repeated))
def repeated_rows(checks: DatasetChecks) -> Iterator[Fault]:
    drops = trainers.traits_of(checks.recipe.preset).options.get(Effect.DROPS_COPIES)
    count = checks.same.count
    if count and not (drops and get(checks.recipe, drops)):
        rest = f"; {checks.unremembered:,} rows were not compared" if checks.unremembered else ""
        what = f"{many(count, 'row')} {'is' if count == 1 else 'are'} the same as an earlier one{rest}"
        yield Fault(what, tally=checks.same)


DUP002 = major(
    "train-eval-leak",
    "prompts from the evaluation set are also in the training data",
    "The evaluation then measures memorisation.",
    data="split by prompt or document, not by row",
    bad=case(GOOD, evaluation=[GOOD]),
    good=case(GOOD, evaluation=[chat("hi", "Hello.")]),
)


@dataset_check(
    DUP002, parts=lambda checks, _: (number_of(prompt) for prompt in checks.evaluation if prompt in checks.by_prompt)
)
def leaked_prompts(checks: DatasetChecks) -> Iterator[Fault]:
    if checks.leaked.count:
        what = f"{checks.leaked.count:,} of {checks.totals.rows:,} rows have a prompt from the evaluation set"
        yield Fault(what, tally=checks.leaked)


DUP003 = info(
    "prompt-with-several-answers",
    "one prompt has several answers",
    "Fine for variety, a problem if the answers contradict each other.",
    data="look at the rows",
    bad=case(chat("hi", "Hello."), chat("hi", "Good day.")),
    good=case(GOOD, chat("hi", "Hello.")),
)


@dataset_check(DUP003, parts=lambda checks, _: map(number_of, checks.others))
def other_answers(checks: DatasetChecks) -> Iterator[Fault]:
    if checks.again.count:
        what = f"{checks.again.count:,} of {checks.totals.rows:,} rows answer an earlier prompt differently"
        yield Fault(what, tally=checks.again)


CON013 = minor(
    "column-only-in-few-rows",
    "a few rows have columns that the others lack",
    "Arrow needs the same columns and types in every row; load_dataset may stop with a cast error, or fill the"
    " rest with null.",
    data="remove the column, or add it to every row with one type",
    bad=case(*[GOOD] * 24, {**GOOD, "meta": {"a": 1}}),
    good=case(*[GOOD] * 24),
)


@dataset_check(CON013, parts=lambda checks, _: _rare(checks))
def rare_columns(checks: DatasetChecks) -> Iterator[Fault]:
    rare = _rare(checks)
    if checks.read >= ENOUGH_ROWS and rare:
        together = Tally()
        for tally in rare.values():
            together.merge(tally)
        names = ", ".join(f"`{shown(str(column), 30)}`" for column in list(rare)[:6])
        yield Fault(
            f"{names} {'is' if len(rare) == 1 else 'are'} in at most"
            f" {max(tally.count for tally in rare.values()):,} of {checks.read:,} rows",
            tally=together,
        )


TRU005 = major(
    "default-length",
    "the trainer's default length limit cuts rows",
    "The trainer uses this limit if none is set, and it removes trained tokens.",
    moves=("cut",),
    bad=case(chat("hi", "so it goes " * 900), preset="trl@1.16"),
    good=case(GOOD, preset="trl@1.16"),
)


@dataset_check(TRU005, parts=lambda checks, _: [f"{checks.trainer} {checks.recipe.length.max}"])
def usual_length(checks: DatasetChecks) -> Iterator[Fault]:
    rows, most = checks.totals.rows, checks.recipe.length.max
    default = trainers.preset(checks.recipe.preset).length.max
    if not checks.cut.count or most is None or most != default or checks.trained == 0:
        return
    table = " · ".join(
        f"{limit}: {checks.over[limit]:,} rows, {share(checks.lost[limit], checks.trained, 1)}"
        for limit in LIMITS
        if checks.over[limit]
    )
    better = next((limit for limit in LIMITS if limit > most and checks.over[limit] * 100 < rows), None)
    yield Fault(
        f"{checks.cut.count:,} of {rows:,} rows are longer than {most:,}, the default of {checks.trainer}",
        f"rows over a length, and the share of trained tokens beyond it: {table}",
        tally=checks.cut,
        changes=[("length.max", better)] if better else (),
    )


BND007 = fatal(
    "mask-starts-at-once",
    "nearly every row is trained from its first tokens on",
    "Prompts are long but the mask begins after two or three tokens: since transformers 5,"
    " apply_chat_template(tokenize=True) returns a mapping, and its length was taken for the prompt's.",
    bad=Case([{"input_ids": IDS * 2, "labels": [-100] * 2 + (IDS * 2)[2:]}] * 24, changes={"mask.rule": "given"}),
    good=Case([{"input_ids": IDS * 2, "labels": [-100] * 30 + (IDS * 2)[30:]}] * 24, changes={"mask.rule": "given"}),
)


@dataset_check(BND007)
def early_masks(checks: DatasetChecks) -> Iterator[Fault]:
    mask = checks.recipe.mask
    by_length = mask.rule in ("given", "all") or (mask.rule in BY_PROMPT and mask.boundary == "prompt_length")
    if by_length and checks.long_prompt.count >= 20 and checks.early.count >= 0.95 * checks.long_prompt.count:
        yield Fault(
            f"in {checks.early.count:,} of {checks.long_prompt.count:,} longer rows the mask begins after at most"
            f" {EARLY} tokens",
            tally=checks.early,
        )


LAB009 = info(
    "turns-not-all-trained",
    "not every assistant turn is trained",
    "Some trainers train only the last answer, others all; both surprise people.",
    moves=("answers", "behind stops"),
    bad=case(chat("hi", "Hello.", "Bye.", "Bye!")),
    good=case(chat("hi", "Hello.", "Bye.", "Bye!"), changes={"mask.rule": "assistant"}),
    more=tuple(
        case(ROUNDS, preset=one, changes={"mask.turns": "last", **more})
        for one, more in (
            ("llamafactory@0.9", {}),
            ("torchtune@0.7", {"mask.rule": "turn_full"}),
            ("unsloth@2026.10", {"mask.rule": "markers"}),
            ("hf-trainer", {"mask.rule": "assistant"}),
        )
    ),
)


@dataset_check(LAB009)
def some_turns(checks: DatasetChecks) -> Iterator[Fault]:
    if checks.some_turns.count and checks.recipe.supervised:
        changes = []
        mask = checks.recipe.mask
        # A completion is the last answer, whatever mask.turns says.
        if mask.rule == "completion" and trainers.traits_of(checks.recipe.preset).by_hand:
            changes = [("mask.rule", "assistant")]
        if mask.turns == "last":
            changes.append(("mask.turns", "all"))
        yield Fault(
            f"in {checks.some_turns.count:,} of {checks.many_turns:,} rows with several answers, not every answer is"
            " trained",
            tally=checks.some_turns,
            changes=changes,
        )


LAB013 = info(
    "trained-share",
    "rows whose trained share stands out",
    "Rows with almost nothing or everything trained are worth a look.",
    data="look at the rows",
    bad=case(chat("hi " * 400, "Yes."), LONG),
    good=case(LONG),
)


@dataset_check(LAB013)
def trained_share(checks: DatasetChecks) -> Iterator[Fault]:
    few, whole, parts = checks.few_trained, checks.all_trained, []
    if few.count:
        parts.append(f"{few.count:,} rows train less than 1 % of their tokens")
    if 0 < whole.count < checks.read:
        parts.append(f"{whole.count:,} of {checks.read:,} rows train every token")
    if parts and checks.recipe.supervised:
        yield Fault(" and ".join(parts), tally=few if few.count else whole)


def _rare(checks: DatasetChecks) -> dict[str, Tally]:
    return {column: tally for column, tally in checks.columns.items() if tally.count < RARE * checks.read}
