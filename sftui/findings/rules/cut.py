"""Answers that end too early in the data already, as whoever wrote them ran out of tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from sftui.findings.checks import CONVERSATION, Fault, dataset_check, row_check
from sftui.findings.dataset import SPOKEN, DatasetChecks, Tally
from sftui.findings.look import RowLook, shown
from sftui.findings.model import Severity
from sftui.findings.rule import DROP, GOOD, Case, case, chat, major, minor

_REASONS = frozenset(("finish_reason", "finish_reasons", "stop_reason", "stop_reasons"))
_LENGTH = frozenset(("length", "max_tokens", "max_output_tokens", "max_length", "model_length"))
"""What the APIs of OpenAI, Anthropic, Google, vLLM and Mistral say of an answer that reached its limit."""
_FENCE = re.compile(r"^[ \t>]*(?:[-*+] |\d+[.)] )?(`{3,})([^`\n]*)$", re.MULTILINE)
_JSON = re.compile(r'\s*(?:\{\s*"|\[\s*[\[{"])')
_BRACKET = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*("?)|[{}\[\]]', re.DOTALL)
_PROSE = "It rained for a week. " * 5 + "Then the people of the town came out and said that it was"
_TAIL = 2_000
"""Characters of a last line in which an open bracket is looked for."""

CON017 = major(
    "answer-cut",
    "an answer leaves something unclosed, or its row says that it was cut off",
    "The row says that its generator hit the length limit (finish_reason: length), or the answer opens a code block,"
    " JSON or a bracket and never closes it. The model learns to stop mid-answer.",
    data="generate the answer again with a higher limit",
    repair=(DROP,),
    inherent=True,
    bad=case(chat("Sort it.", "Here:\n```python\nfor one in so")),
    good=case(chat("Sort it.", "Here:\n```python\nx.sort()\n```")),
    more=(
        case(chat("List them.", '[{"name": "Ann", "age": 3}, {"name": "Bo')),
        case(chat("Why?", "It is cold (as we said, the heating"), chat("hi", "Hello (you).")),
        case({**GOOD, "finish_reason": "length"}),
    ),
)


@row_check(
    CONVERSATION,
    CON017,
    kinds=SPOKEN,
    of=lambda shape: not _REASONS.isdisjoint(shape.columns) or dict in shape.types or not shape.manner.plain,
)
def limited(look: RowLook) -> Iterator[Fault]:
    """CON017: the row itself says that its answer reached a limit."""
    for where, value in _limits(look):
        yield Fault(
            f"`{where}` is {shown(value, 20)}: the generator's length limit cut the answer", f"{where}: {value}"
        )


def _limits(look: RowLook) -> Iterator[tuple[str, str]]:
    """Where the row, a mapping in it, or a message says so, with the word."""
    data = look.inspection.row.data or {}
    inner = [value for value in data.values() if type(value) is dict]
    for level in (data, *inner, *([one.data for one in look.messages] if not look.read.manner.plain else ())):
        for key in _REASONS.intersection(level):
            values = level[key] if isinstance(level[key], list) else [level[key]]
            yield from ((key, one) for one in values if isinstance(one, str) and one.lower() in _LENGTH)


@row_check(CONVERSATION, CON017, kinds=SPOKEN, signs=lambda *_: "`{[(", several=True)
def open_ended(look: RowLook) -> Iterator[Fault]:
    """CON017: what an answer opens and never closes, with the words at its end."""
    for number, text in look.written:
        said = text.rstrip()
        if "```" in said and said.count("```") % 2 and _open_fence(said):
            what, severity = "opens a code block and never closes it", None
        elif said[:1] in "{[" and _JSON.match(said) and _open_json(said):
            what, severity = "begins as JSON that is never closed", None
        elif _open_bracket(said):
            what, severity = "opens a bracket on its last line and never closes it", Severity.INFO
        else:
            continue
        yield Fault(f"{look.name(number)} {what}", shown(said[-60:]), severity, message=number)


def _open_fence(text: str) -> bool:
    """Whether code is open at the end, both where fences may hold others and where (CommonMark) they may not."""
    plain, nested = None, 0
    for fence in _FENCE.finditer(text):
        named = bool(fence[2].strip())
        if plain is None:
            plain = fence
        elif not named and len(fence[1]) >= len(plain[1]):
            plain = None
        nested += 1 if named or not nested else -1
    return plain is not None and nested > 0 and bool(text[plain.end() :].strip())


def _open_json(text: str) -> bool:
    depth = 0
    for found in _BRACKET.finditer(text) if text[-1] not in "}]" else ():
        if found[0][0] == '"':
            if not found[1]:
                return True
            continue
        depth += 1 if found[0] in "{[" else -1
        if not depth:
            return False
    return depth > 0


def _open_bracket(text: str) -> bool:
    """Whether a sentence stops inside a round bracket: nothing ends it, and what opens is no smiley."""
    if not text or not (text[-1].isalnum() or text[-1] in ",;("):
        return False
    line = text[max(text.rfind("\n") + 1, len(text) - _TAIL) :]
    at = line.rfind("(")
    return at >= 0 and ")" not in line[at:] and line[at - 1 : at] not in (":", ";", "-", "=", "\\") and "`" not in line


CON018 = major(
    "answers-cut-at-one-length",
    "many answers have exactly the same length in tokens, and hardly any are longer",
    "They probably hit the generator's length limit and stop mid-answer: complete answers vary in length.",
    data="drop the rows of that length, or regenerate them with a higher limit",
    inherent=True,
    bad=Case([chat(f"Tell {n}.", "so it goes " * min(20 + n, 60)) for n in range(80)]),
    good=Case([chat(f"Tell {n}.", "so it goes " * (20 + n)) for n in range(80)]),
)
_LEAST, _ROWS, _KINDS, _NEAR, _TIMES = 64, 20, 30, 40, 10
"""Tokens of such an answer, rows that have it, different lengths, and how many lengths below it have on average a
tenth of its rows."""


@dataset_check(CON018, parts=lambda checks, _: (str(size) for size, _ in _piled(checks.lengths)))
def piled_up(checks: DatasetChecks) -> Iterator[Fault]:
    """CON018: a length at which rows pile up, above which there are next to none."""
    for length, above in _piled(checks.lengths):
        count = checks.lengths[length]
        rows = "rows" if checks.recipe.supervised else "answers"
        what = f"{count:,} {rows} train exactly {length:,} tokens each, and {above or 'none'} train more"
        yield Fault(what, f"{_near(checks.lengths, length):.1f} rows at each shorter length nearby", tally=Tally(count))


def _piled(lengths: Mapping[int, int]) -> Iterator[tuple[int, int]]:
    """That length, with how many rows are longer; none where rows have too few lengths to tell."""
    rows, above = sum(lengths.values()), 0
    for length in sorted(lengths, reverse=True) if len(lengths) >= _KINDS else ():
        count = lengths[length]
        if length < _LEAST or above * 100 > rows:
            return
        if _ROWS <= count <= rows / 2 and count >= _TIMES * max(_near(lengths, length), 1):
            yield length, above
            return
        above += count


def _near(lengths: Mapping[int, int], length: int) -> float:
    """How many rows have each of the lengths just below, of those that some have: repeated rows have the same ones."""
    some = [count for count in (lengths.get(length - i, 0) for i in range(1, _NEAR + 1)) if count]
    return sum(some) / max(1, len(some))


CON022 = minor(
    "answers-stop-in-a-sentence",
    "some answers stop mid-sentence, while nearly all others do not",
    "The generator's length limit may have cut them.",
    data="check the rows, and drop those that were cut off",
    inherent=True,
    bad=Case([*[chat("hi", f"{_PROSE}.")] * 60, chat("hi", _PROSE)]),
    good=Case([*[chat("hi", f"{_PROSE}.")] * 60, *[chat("hi", _PROSE)] * 20]),
)
_ENOUGH, _NEARLY_ALL = 50, 0.95


@dataset_check(CON022)
def stops_short(checks: DatasetChecks) -> Iterator[Fault]:
    """CON022: only in sets of which nearly all longer answers end with a full stop, a fence or the like."""
    found = checks.stopped_short
    if found.count and checks.judged >= _ENOUGH and checks.ended >= _NEARLY_ALL * checks.judged:
        what = f"{found.count:,} of {checks.judged:,} longer answers stop mid-sentence"
        yield Fault(f"{what}, and {checks.ended:,} end with a complete sentence", tally=found)
