"""Rows that cannot be read, make no conversation, or that a stage refuses without a code of its own."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import Any

from sftui import trainers
from sftui.conversations.messages import parse_json, printed_list
from sftui.errors import RecipeError
from sftui.findings.checks import DATA, STOPPED, Fault, row_check, setup_check
from sftui.findings.context import Context
from sftui.findings.fixes import fix_of
from sftui.findings.look import RowLook, shown
from sftui.findings.model import Severity
from sftui.findings.rule import CALL, CALLING, DROP, GOOD, SHAREGPT, TO_MESSAGES, case, chat, loud, major, minor
from sftui.findings.rules.content import no_plain_text, stale_content
from sftui.findings.rules.generation import refused_untagged
from sftui.findings.rules.roles import refused_names, refused_roles, roleless
from sftui.findings.rules.tools import several_calls
from sftui.model import Inspection, Problem, Stage
from sftui.recipe import Recipe, diff, knobs
from sftui.trainers.own_config import require

LONGEST_LOOKED_AT = 100_000
"""Characters of a record in which keys that stand twice are looked for."""


ROW001 = loud(
    "row-unreadable",
    "the row cannot be read",
    "The record is not a JSON object, or is not valid UTF-8. Loaders stop at it or silently skip it.",
    data="correct the record; the finding names the line",
    repair=(DROP,),
    bad=case(GOOD, "line 2 is not valid JSON"),
)


@row_check(STOPPED, ROW001, of=lambda shape: shape.stopped is Stage.ROW)
def unreadable(look: RowLook) -> Iterator[Fault]:
    yield Fault(look.refusal, shown(look.inspection.row.raw))


ROW007 = loud(
    "row-over-bound",
    "sftui could not prepare the row",
    "Preparing the row took more memory or CPU time than a normal row needs, the template exceeded a limit, or"
    " the row or a setting needs something that sftui does not model. What the trainer does with it is unknown.",
    data="check whether the row or the chat template asks for too much, or try the row in the trainer",
    repair=(DROP,),
    leads_to=None,
    bad=case(GOOD, template="{{ 'a' * 70000000 }}"),
)


@row_check(STOPPED, ROW007)
def over_bound(look: RowLook) -> Iterator[Fault]:
    """ROW007: sftui itself went no further."""
    if look.inspection.problem is not None and look.inspection.problem.ours:
        yield Fault(look.refusal, "")


ROW002 = loud(
    "row-not-a-conversation",
    "the row has no conversation",
    "The column with the conversation is missing, empty, or has a different type than in other rows, so there is"
    " nothing to train on.",
    data="fill the column",
    repair=(DROP,),
    bad=case(GOOD, GOOD, {"messages": []}),
)


@row_check(STOPPED, ROW002)
def no_conversation(look: RowLook) -> Iterator[Fault]:
    """A row of a readable set that is not like the others; sets that are refused as a whole say so themselves."""
    inspection, problem = look.inspection, _problem(look, Stage.CONVERSATION)
    if problem is None or inspection.conversation is not None:
        return
    if look.context.detected.refused is not None or roleless.holds(look) or _mismatch(look):
        return
    if inspection.late is not None or stale_content.holds(look):
        return
    yield Fault(problem.sentence() + _doubled(inspection.row.raw), shown(inspection.row.raw))


def _problem(look: RowLook, *stages: Stage) -> Problem | None:
    """Why the row stopped, if it did at one of these stages and by no bound of sftui's."""
    problem = look.inspection.problem
    return problem if look.inspection.stopped_at in stages and problem is not None and not problem.ours else None


def _doubled(raw: str) -> str:
    """That keys stand twice in a JSON record, and where: of these the last counts, and what is seen first does not."""
    keys: list[str] = []

    def noted(pairs: list[tuple[str, object]]) -> dict[str, object]:
        seen = Counter(key for key, _ in pairs)
        keys.extend(key for key, count in seen.items() if count > 1)
        return dict(pairs)

    if not raw.lstrip().startswith("{") or len(raw) > LONGEST_LOOKED_AT:
        return ""
    try:
        json.loads(raw, object_pairs_hook=noted)
    except (ValueError, RecursionError):
        return ""
    if not keys:
        return ""
    places = [match.start() + 1 for match in re.finditer(re.escape(json.dumps(keys[0])) + r"\s*:", raw)]
    where = f" (columns {places[0]:,} and {places[-1]:,})" if len(places) > 1 and "\n" not in raw.strip() else ""
    return f"; the key `{shown(keys[0], 40)}` is duplicated in the record{where}, and the last one counts"


ROW009 = loud(
    "set-not-read",
    "the trainer does not read rows of this shape",
    "The trainer expects different columns or messages, and stops before it reads a row. Another trainer may be able"
    " to read the same data.",
    data="convert the rows to messages with `sftui convert`",
    repair=(TO_MESSAGES,),
    bad=case({"question": "What is 1 + 2?", "answer": "3"}, preset="trl@1.16"),
    good=case(GOOD, preset="trl@1.16"),
    more=(case(SHAREGPT, preset="unsloth@2026.10"),),
)


@setup_check(ROW009)
def not_read(context: Context, sample: Sequence[Inspection]) -> Iterator[Fault]:
    """ROW009: the trainer refuses the set as a whole, with what it raises."""
    refused = context.detected.refused
    if refused is None or not sample:
        return
    text = f"{refused.what}, because {refused.why}" if refused.why else refused.what
    texts = [name for name, value in (sample[0].row.data or {}).items() if _holds_data(value)]
    if texts:
        text += f"; {' and '.join(f'`{shown(name, 40)}`' for name in texts)} hold JSON or Python literals as text"
    yield Fault(text, title=refused.fix, rows=tuple(one.row.index for one in sample))


def _holds_data(value: object) -> bool:
    """Whether it is a text that says a list or a mapping."""
    if not isinstance(value, str) or not value.lstrip().startswith(("[{", "{")) or len(value) > LONGEST_LOOKED_AT:
        return False
    return isinstance(parse_json(value), (list, dict)) or printed_list(value) is not None


LAB006 = loud(
    "length-mismatch",
    "labels or masks differ in length from the ids",
    "TRL zips them and drops the excess; others raise an error.",
    data="store one entry per id",
    bad=case({"input_ids": [1, 2, 3], "labels": [1, 2]}),
    good=case({"input_ids": [1, 2, 3], "labels": [1, 2, 3]}),
)


@row_check(DATA, LAB006, shape=lambda shape, _: shape.ids)
def length_mismatch(look: RowLook) -> Iterator[Fault]:
    found = _mismatch(look)
    if found:
        yield Fault(found, "")


def _mismatch(look: RowLook) -> str:
    data = look.inspection.row.data
    fields = look.context.detected.fields
    ids = data.get(fields.get("input_ids", "input_ids")) if isinstance(data, Mapping) else None
    if not isinstance(ids, (list, tuple)) or data is None:
        return ""
    for name in ("labels", "attention_mask", "completion_mask", "assistant_masks", "loss_mask"):
        column = fields.get(name, name)
        other = data.get(column)
        if isinstance(other, (list, tuple)) and len(other) != len(ids):
            return f"`{column}` has {len(other)} entries for {len(ids)} ids"
    return ""


ROW005 = minor(
    "not-strict-json",
    "the row contains NaN or Infinity, which is not JSON",
    "Python's json module reads it; stricter readers (orjson, Arrow, other languages) reject the file.",
    data="store null or a number",
    bad=case({**GOOD, "score": float("nan")}),
    good=case({**GOOD, "score": 1.0}),
)


@row_check(DATA, ROW005, of=lambda shape: float in shape.types)
def not_strict(look: RowLook) -> Iterator[Fault]:
    """ROW005: NaN or infinity somewhere in the columns next to the conversation."""
    for column, value in (look.inspection.row.data or {}).items():
        if type(value) is float and not isfinite(value):
            yield Fault(f"`{shown(str(column), 40)}` is {value}, which is not JSON", shown(f"{column}: {value}"))


ROW008 = loud(
    "another-kind-of-value",
    "a value has a different type than in earlier rows",
    "The trainer reads JSON with `datasets`, which gives each field one type. Before 4.7 it fails on strings mixed"
    " with numbers, lists or objects. Since then it keeps such a field as JSON: strings that are valid JSON come back"
    " as numbers, lists or null, and after the first 10 MB, values become quoted strings.",
    data="use the same type for this field in every row",
    bad=case(GOOD, chat("How many?", {"role": "assistant", "content": 4}), preset="trl@1.16", looked_at=1),
    good=case(GOOD, chat("How many?", {"role": "assistant", "content": "4"}), preset="trl@1.16", looked_at=1),
)


@row_check(DATA, ROW008, row=lambda look: look.inspection.late)
def late_kind(look: RowLook) -> Iterator[Fault]:
    """ROW008: a value by which the trainer's datasets reads the whole file otherwise, or stops."""
    late = look.inspection.late
    if late is not None:
        yield Fault(late.problem.sentence(), "", None if late.stops else Severity.WARNING)


_FLAT = {"name": "get_weather", "arguments": {"city": "Paris"}}

ROW003 = loud(
    "template-refuses-row",
    "the chat template fails on this row",
    "Rendering raises an error, for a reason other than the order of roles: a key the template needs is missing or has"
    " the wrong type.",
    data="correct what the template cannot read, or use another template",
    repair=("parse-json", "wrap-calls", DROP),
    bad=case(GOOD, GOOD, chat(("user", {"a": 1}), "yes"), template="chatml"),
    more=(
        case(chat("Weather?", {**CALL, "tool_calls": [_FLAT]}), template=CALLING),
        case(chat("Weather?", {**CALL, "tool_calls": json.dumps([{"function": _FLAT}])}), template=CALLING),
    ),
)


@row_check(STOPPED, ROW003)
def refused_by_template(look: RowLook) -> Iterator[Fault]:
    problem = _problem(look, Stage.RENDERED)
    if problem is None:
        return
    if look.context.template is None and not look.context.tools.templates:
        return  # TPL001 says it once
    if refused_roles.holds(look) or several_calls.holds(look) or (look.chat and no_plain_text(look)):
        return
    if refused_names(look) or refused_untagged(look.context, look.inspection):
        return
    if any(f"'{name}' is undefined" in problem.sentence() for name in look.context.lacking):
        return  # TPL013 says it once
    called = [number for number, message in enumerate(look.messages) if message.data.get("tool_calls")]
    as_text = bool(called) and look.context.render(_with_texts(look), tools=look.conversation.tools) is not None
    wants = f"; it expects the arguments of the calls in message {called[0]} as JSON text" if as_text else ""
    yield Fault(f"{problem.sentence()}{wants}", "")


def _with_texts(look: RowLook) -> list[Mapping[str, Any]]:
    """The messages of a row with the arguments of calls as JSON text."""

    def written(call: Any) -> Any:
        function = call.get("function") if isinstance(call, Mapping) else None
        if not isinstance(function, Mapping) or not isinstance(function.get("arguments"), Mapping):
            return call
        return {**call, "function": {**function, "arguments": json.dumps(function["arguments"], default=str)}}

    calls = (message.data.get("tool_calls") for message in look.messages)
    made = ([written(call) for call in one] if isinstance(one, (list, tuple)) else one for one in calls)
    return [{**message.data, **({"tool_calls": one} if one else {})} for message, one in zip(look.messages, made)]


ROW004 = loud(
    "trainer-refuses-row",
    "the trainer stops the whole run at this row",
    "A rule of the trainer, or the tokenizer, raises an error on the row, which ends the run.",
    data="remove the row or change the setting that the finding names",
    repair=(DROP,),
    bad=case(GOOD, chat("a\ud83d", "b")),
)


@row_check(STOPPED, ROW004)
def refused_by_trainer(look: RowLook) -> Iterator[Fault]:
    inspection, problem = look.inspection, _problem(look, Stage.CONVERSATION, Stage.TOKENS, Stage.LABELS)
    if problem is None or inspection.conversation is None:
        return
    untagged = inspection.rendered is not None and not inspection.rendered.has_generation_tag
    if look.recipe.mask.rule == "generation_tag" and untagged:
        return  # GEN001 says it once
    sentence = problem.sentence()
    # No row is at fault where the recipe asks for what the trainer does not have.
    foreign = look.context.once("foreign", lambda: _foreign(look.recipe))
    usual = [(path, value) for refusal, path, value in foreign if refusal == sentence]
    yield Fault(sentence, "", fix=fix_of(look.context, ROW004, usual) if usual else None)


def _foreign(recipe: Recipe) -> list[tuple[str, str, Any]]:
    """The knobs whose choice the trainer does not have: how it refuses them, their paths, and what it takes where
    nothing is said."""
    found = []
    choosing = {info.path for info in knobs() if info.choices}
    for change in diff(trainers.preset(recipe.preset), recipe):
        if change.path in choosing:
            try:
                require(recipe, change.path)
            except RecipeError as error:
                found.append((str(error), change.path, change.before))
    return found


ROW018 = major(
    "cell-read-otherwise",
    "a CSV cell is read as something other than its text",
    "`datasets` reads CSV with pandas, which treats words such as None, NA, null and nan as empty cells, quoted"
    " or not, and reads a column of only numbers, or only true and false, as numbers and booleans: 007 becomes"
    " 7, or 7.0 if another cell is empty. The trainer stops at such a value, drops the row, or trains on the"
    " converted value.",
    data="write the rows as JSONL, where text stays text",
    bad=case({"prompt": "hi", "completion": None}, cells=(("completion", "None"),)),
    good=case({"prompt": "hi", "completion": "none"}),
)


@row_check(DATA, ROW018, row=lambda look: look.inspection.row.cells, several=True)
def read_otherwise(look: RowLook) -> Iterator[Fault]:
    """ROW018: of the columns that rows are made of."""
    row, used = look.inspection.row, {*look.context.detected.fields.values()}
    for column, text in row.cells:
        if used and column not in used:
            continue
        value = (row.data or {}).get(column)
        read = "reads as an empty cell (null)" if value is None else f"reads as {value!r}"
        yield Fault(f"`{shown(column, 40)}` contains `{shown(text, 40)}` in the file, which pandas {read}", "")
