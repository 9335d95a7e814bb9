"""A worker that works in the test's process: rows made of words, answers at once or when the test says so."""

from __future__ import annotations

import pickle
import re
from array import array
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import lru_cache, partial
from types import SimpleNamespace
from typing import Any

from sftui.bound import Overrun
from sftui.comparison import ComparisonCount, compare_row
from sftui.findings import Finding, Fix, Severity, apply_waivers, read_waivers
from sftui.flat import flat, labelled
from sftui.model import (
    NOWHERE,
    Batch,
    Boundary,
    Conversation,
    Example,
    Inspection,
    Kind,
    Labels,
    Message,
    Pack,
    Part,
    Problem,
    Reason,
    RecipeChange,
    RenderedText,
    Row,
    RowSummary,
    Span,
    Tokens,
    TokenText,
)
from sftui.recipe import Recipe, changed, diff
from sftui.runs import as_runs
from sftui.session.deciding import LabelFlip
from sftui.settings import UserSettings
from sftui.starting import IdleWorker
from sftui.trainers import preset
from sftui.tui.app import SftuiApp
from sftui.views.grid import hit_starts
from sftui.views.strip import strip_of
from sftui.workspace import OpenOptions, SearchQuery, Workspace
from sftui.workspace import events as ev
from sftui.workspace import requests as rq
from sftui.workspace.comparing import row_diff
from sftui.workspace.link import Link
from sftui.workspace.requests import REPAIRED

PROMPT = "<start_of_turn>user\n{question}<end_of_turn>\n<start_of_turn>model\n"
DATA = [
    ("What is the capital of France?", "Paris is the capital of France."),
    ("Say [/INST] and [b]bold[/b]", "[@click=app.quit]no[/] \x1b[2mowned\x07 \x1b[31mred"),
    ("你好，世界 ❤️ नमस्ते 👩‍👩‍👧", "שלום עולם \u202eabc\u202c zero\u200bwidth"),
    ("Tell me a long story", " ".join(f"word{i}" for i in range(400))),
    ("Code?", "def f(x):\n\treturn x + 1\n\nprint(f(2))"),
]


def words(text: str) -> list[tuple[int, int]]:
    """Word-like stretches that cover the text: a leading space belongs to its word."""
    spans, start = [], 0
    for i in range(1, len(text) + 1):
        if i == len(text) or text[i] in " \n<\t" or text[i - 1] in "\n>":
            spans.append((start, i))
            start = i
    return spans


def inspection(
    index: int,
    recipe: Recipe,
    data: Sequence[tuple[str, str]] = DATA,
    provisional: bool = False,
    repairs: tuple[str, ...] = (),
) -> Inspection:
    """What is made once of row `index` and what counts of the recipe."""
    told = recipe.mask.rule, recipe.length.max, recipe.loss.weights
    return _inspection(index, *told, data[index % len(data)], provisional, repairs)


@lru_cache(maxsize=1024)
def _inspection(
    index: int,
    rule: str,
    limit: int | None,
    weighing: str,
    said: tuple[str, str],
    provisional: bool,
    repairs: tuple[str, ...],
) -> Inspection:
    """Row `index`, its answer with the weight 0.3 where the recipe has weights; any repair but one that drops says
    `mended` in every third row, `drop CODE` leaves those out."""
    question, answer = said
    hit = index % 3 == 1
    mended = hit and any(not one.startswith("drop ") for one in repairs)
    left_out = next((f"it has the finding {one[5:]}" for one in repairs if hit and one.startswith("drop ")), None)
    answer = f"{answer} mended" if mended else answer
    messages = (
        Message({"role": "user", "content": question}, "messages[0]"),
        Message({"role": "assistant", "content": answer}, "messages[1]"),
    )
    prompt = PROMPT.format(question=question)
    text = prompt + answer + "<end_of_turn>\n"
    cut = words(text)
    row = Row(
        index,
        {"messages": [dict(m.data) for m in messages]},
        f'{{"messages": "{question}"}}',
        f"line {index + 1}",
        len(text),
        repairs=("messages[1].content: now says 'mended'",) if mended else (),
        left_out=left_out,
    )
    parts, owners, reasons, labels, ids = [], [], [], [], []
    completion = rule == "completion"
    for start, end in cut:
        answered = start >= len(prompt)
        special = text[start:end].startswith("<") and text[start:end].endswith(">")
        part = Part.TERMINATOR if answered and special else Part.HEADER if special else Part.CONTENT
        if answered and start >= len(prompt) + len(answer) and not special:
            part = Part.SEPARATOR
        trained = (answered and part is not Part.SEPARATOR) or not completion
        token = 100 + sum(text[start:end].encode("utf-8", "replace")) % 9000
        ids.append(token)
        labels.append(token if trained else -100)
        parts.append(part)
        owners.append(1 if answered else 0)
        reasons.append(Reason.COMPLETION if trained else Reason.TRAILING if answered else Reason.PROMPT)
    kept = len(ids) if limit is None else min(limit, len(ids))
    n_prompt = sum(1 for s, _ in cut if s < len(prompt))
    tokens = Tokens(
        flat(ids),
        tuple(s for s, _ in cut),
        tuple(e for _, e in cut),
        tuple(owners),
        tuple(parts),
        prompt=flat(ids[:n_prompt]),
    )
    written = TokenText(
        tuple(text[s:e] for s, e in cut),
        tuple(text[s:e].encode("utf-8", "surrogatepass") for s, e in cut),
        tuple(p in (Part.HEADER, Part.TERMINATOR) for p in parts),
    )
    spans = (
        Span(0, len("<start_of_turn>user\n"), 0, Part.HEADER),
        Span(len("<start_of_turn>user\n"), len(prompt), 0, Part.CONTENT),
        Span(len(prompt), len(prompt) + len(answer), 1, Part.CONTENT),
        Span(len(prompt) + len(answer), len(text), 1, Part.TERMINATOR),
    )
    weights = None
    if weighing == "float":
        weights = as_runs(tuple(0.3 if label != -100 else 0.0 for label in labels))
    return Inspection(
        row,
        Conversation(Kind.CHAT, "messages", messages),
        RenderedText(text, spans, prompt),
        tokens,
        Labels(
            tuple(labels),
            labelled(labels),
            tuple(reasons),
            ((0, kept),),
            None if left_out is None else f"a repair leaves the row out, because {left_out}",
            weights=weights,
        ),
        None
        if left_out is not None
        else Example(
            tuple(ids[:kept]),
            tuple(labels[:kept]),
            (1,) * kept,
            weights=weights[:kept] if weights is not None else None,
        ),
        boundary=Boundary(n_prompt, n_prompt),
        token_text=written,
        prompt_text=TokenText(written.pieces[:n_prompt], written.surfaces[:n_prompt], written.special[:n_prompt]),
        provisional=provisional,
    )


def over(
    worker: WordsWorker | None = None,
    recipe: Recipe | None = None,
    options: OpenOptions | None = None,
    kind: type[Workspace] = Workspace,
) -> Workspace:
    """A workspace over a worker made of words; `kind` is one that says itself what an export would write."""
    return kind(
        options or OpenOptions(("train.jsonl",), recipe=recipe or preset()), connect=(worker or WordsWorker()).connect
    )


class WordsWorker(Link):
    """A worker in this process, at the other end of a real workspace's link: what is asked is answered at once, by rows
    made of words, under the recipe and the repairs that it was told of. Requests and answers are pickled, as on a pipe.

    `hold` keeps answers until `release`, for tests of staleness.
    """

    pid = 0

    def __init__(self, rows: int = 41, data: list[tuple[str, str]] = DATA) -> None:
        self.rows, self.data = rows, data
        self.recipe, self.version = preset(), 0
        self.repairs: tuple[str, ...] = ()
        self.opened = 0
        self.killed = False
        self.hold = False
        self.held: list[ev.Event] = []
        self.asked: list[tuple[str, Any]] = []
        self.provisional = False
        self.audit_parts = False
        self.verdicts: dict[int, tuple[str, str]] = {}
        """What the findings of rows come to."""
        self.last: dict[str, tuple[int, Any]] = {}
        self.ticket = 0
        """Of the question that is answered."""

    # — a connection —

    def connect(
        self,
        on_event: Callable[[Any], None],
        on_end: Callable[[Link], None],
        command: tuple[str, ...],
        started: IdleWorker | None,
    ) -> Link:
        """In place of starting a process; it never ends."""
        self._on_event = on_event
        return self

    def send(self, request: rq.Request) -> bool:
        self.take(pickle.loads(pickle.dumps(request)))
        return True

    def kill(self) -> None:
        self.killed = True

    def exit_code(self) -> int | None:
        return None

    def overrun(self) -> Overrun | None:
        return None

    def log_tail(self) -> str:
        return ""

    # — what it tells —

    def emit(self, event: ev.Event) -> None:
        """An event, now or when it is released."""
        if self.hold:
            self.held.append(event)
        else:
            self._on_event(pickle.loads(pickle.dumps(event)))

    def emit_now(self, event: ev.Event) -> None:
        """An event, whatever is held."""
        self._on_event(event)

    def release(self, *order: int) -> None:
        held, self.held, self.hold = self.held, [], False
        for event in [held[i] for i in order] if order else held:
            self.emit(event)

    # — what it is asked —

    def take(self, request: rq.Request) -> None:
        if isinstance(request, rq.OpenRequest):
            self.open(request)
        elif isinstance(request, rq.SetRecipe):
            self.recipe, self.repairs, self.version = request.recipe, request.repairs, request.version
            self.opened = request.opened
            self.answer_again()
        elif isinstance(request, rq.Cancel):
            self.asked.append(("cancel", request.ticket))
            self.cancelled(request.ticket)
        else:
            self.ticket = request.ticket
            name = type(request).__name__.removesuffix("Request").lower()
            given = [getattr(request, one) for one in type(request).__annotations__ if one != "ticket"]
            getattr(self, f"answer_{name}")(*given)

    def open(self, request: rq.OpenRequest) -> None:
        """The data is there, and the tokenizer."""
        self.recipe, self.repairs, self.version = request.recipe, request.repairs, request.version
        self.emit(ev.SourceOpened("train.jsonl", "messages"))
        self.emit(ev.CountChanged(self.rows, True, 1.0))
        self.emit(ev.TokenizerChanged("proven", None, "builtin:gemma"))
        self.ticket = request.ticket
        self.answer_row(request.row or 0, 0)

    def cancelled(self, ticket: int) -> None:
        """Nobody wants that answer any more."""

    def answer_again(self) -> None:
        """What is on screen, under another recipe."""
        if "row" in self.last:
            ticket, index = self.last["row"]
            self.emit(ev.RowReady(ticket, self.version, None, self.make(index)))
        if "findings" in self.last:
            self.emit(self.findings_event())
        if "why" in self.last:
            self.emit(self.why_event())
        if "summaries" in self.last:
            ticket, (start, stop) = self.last["summaries"]
            rows = range(start, min(stop, self.rows))
            self.emit(ev.SummariesReady(ticket, self.version, None, tuple(map(self.summary, rows))))

    def make(self, index: int) -> Inspection:
        return inspection(index, self.recipe, self.data, self.provisional, self.repairs)

    def answer_row(self, index: int, held: int) -> None:
        self.asked.append(("row", index))
        self.last["row"] = (self.ticket, index)
        if held != self.version:
            self.emit(ev.RowReady(self.ticket, self.version, None, self.make(index)))

    def summary(self, index: int) -> RowSummary:
        made = self.make(index)
        assert made.tokens is not None and made.labels is not None
        kept = made.labels.kept[0][1]
        repaired = bool(made.row.repairs) or made.row.left_out is not None
        return RowSummary(
            index,
            self.data[index % len(self.data)][0],
            len(made.tokens),
            made.trained,
            len(made.tokens) - kept,
            made.dropped,
            repaired=repaired,
            evaluates=made.evaluates,
            verdict=self.verdicts.get(index),
            strip=strip_of(made),
        )

    def answer_summaries(self, start: int, stop: int, rows: tuple[int, ...] = ()) -> None:
        ticket = self.ticket
        self.asked.append(("summaries", (start, stop)))
        self.last["summaries"] = (ticket, (start, stop))
        self.emit(
            ev.SummariesReady(
                ticket, self.version, None, tuple(self.summary(i) for i in rows or range(start, min(stop, self.rows)))
            )
        )

    def answer_audit(self) -> None:
        ticket = self.ticket
        self.asked.append(("audit", None))
        if self.audit_parts:
            self.emit(ev.AuditReady(ticket, self.version, None, 20, self.rows, 500.0, 0.04, figures=self.figures(20)))
        codes = (
            ev.CodeCount("CON008", "error", 14, 1, "message 1 holds a control character"),
            ev.CodeCount("EOS008", "info", 1, None, "⏎ is trained"),
        )
        self.emit(
            ev.AuditReady(
                ticket,
                self.version,
                None,
                self.rows,
                self.rows,
                500.0,
                0.0,
                True,
                self.figures(self.rows),
                codes,
                (14, 0),
                verdict=tuple(
                    ev.VerdictLine(severity, f"{words} in 1 of {self.rows} rows", "verdict: unread")
                    for severity, words in self.verdicts.values()
                ),
            )
        )

    def figures(self, rows: int) -> Any:
        """The real figures of the rows as the real audit counts them."""
        return self.audit(rows).figures()

    def audit(self, rows: int) -> Any:
        from sftui.audit.audit import Audit
        from sftui.audit.tallies import Listing
        from sftui.findings.context import Context
        from sftui.findings.look import RowLook

        facts: Any = SimpleNamespace(name="builtin:gemma", eos_id=None, bos_id=None, special_tokens={})
        detected: Any = SimpleNamespace(fields={})
        made = [self.make(index) for index in range(rows)]
        special = {
            token: piece
            for one in made
            if one.tokens is not None
            for token, piece, on in zip(one.tokens.input_ids, one.token_text.pieces, one.token_text.special)
            if on
        }
        tools: Any = SimpleNamespace(tokenizer=SimpleNamespace(special_pieces=special, special_ids=frozenset(special)))
        context = Context(self.recipe, facts, None, detected, tools)
        audit = Audit(context, listing=Listing())
        for one in made:
            audit.add(RowLook(one, context))
        return audit

    def listed(self, by: str) -> Sequence[int]:
        """The rows behind a number of the figures."""
        rows: Sequence[int] = self.audit(self.rows).listing.rows(by)
        return rows

    def answer_order(self, by: str) -> None:
        ticket = self.ticket
        self.asked.append(("order", by))
        rows: Sequence[int] = (
            sorted(range(self.rows), key=lambda i: -len(self.make(i).tokens or ()))
            if by == "longest"
            else range(1, self.rows, 3)
            if by == "CON008"
            else []
        )
        if by in REPAIRED:
            rows = self.counted(self.repairs)[by]
        if ": " in by:
            rows = self.listed(by)
        self.emit(ev.OrderReady(ticket, self.version, None, array("L", rows), len(rows), by))

    def answer_batch(self, start: int, rows: int) -> None:
        ticket = self.ticket
        self.asked.append(("batch", (start, rows)))
        self.last["batch"] = (ticket, (start, rows))
        examples = [self.make(i).example for i in range(start, min(start + rows, self.rows))]
        longest = max(len(e.input_ids) for e in examples if e)
        ids = tuple(e.input_ids + (0,) * (longest - len(e.input_ids)) for e in examples if e)
        labels = tuple(e.labels + (-100,) * (longest - len(e.labels)) for e in examples if e)
        mask = tuple(e.attention_mask + (0,) * (longest - len(e.attention_mask)) for e in examples if e)
        batch = Batch(
            tuple(range(start, start + len(ids))), tuple(len(e.input_ids) for e in examples if e), ids, labels, mask
        )
        self.emit(ev.BatchReady(ticket, self.version, None, batch))

    def answer_search(self, query: SearchQuery, start: int, forward: bool = True) -> None:
        ticket = self.ticket
        self.asked.append(("search", (query, start, forward)))
        order = range(start, self.rows) if forward else range(start, -1, -1)
        for index in order:
            hits = self.hits(query, index)
            if hits is not None:
                self.emit(ev.SearchFound(ticket, None, None, index, hits, abs(index - start) + 1, True))
                return
        self.emit(ev.SearchFound(ticket, None, None, None, (), self.rows, True))

    def hits(self, query: SearchQuery, index: int) -> tuple[int, ...] | None:
        """The tokens of a row that the query touches; None where it is not in the row."""
        if query.kind == "finding":
            return () if self.findings(index) else None
        made = self.make(index)
        assert made.rendered is not None and made.tokens is not None
        spans = [found.span() for found in re.finditer(re.escape(query.text), made.rendered.text)]
        tokens = enumerate(zip(made.tokens.starts, made.tokens.ends))
        return (
            tuple(i for i, (s, e) in tokens if s != NOWHERE and any(s < end and e > start for start, end in spans))
            or None
        )

    def answer_hits(self, query: SearchQuery) -> None:
        """Counted in two parts: rows 0 to 19, then the others."""
        ticket = self.ticket
        self.asked.append(("hits", query))
        for first, last in ((0, 20), (20, self.rows)):
            found = [(i, hits) for i in range(first, last) if (hits := self.hits(query, i)) is not None]
            rows = array("L", [i for i, _ in found])
            counts = array("L", [max(1, len(hit_starts(hits))) for _, hits in found])
            self.emit(ev.HitsCounted(ticket, self.version, None, first, last, rows, counts, last == self.rows))

    def findings(self, index: int) -> tuple[Finding, ...]:
        """Every third row has an error; all have a warning while everything is trained."""
        found = []
        if index % 3 == 1 and not self.repairs:
            found.append(
                Finding(
                    "CON008",
                    Severity.ERROR,
                    "message 1 holds a control character U+001B at character 0",
                    index,
                    1,
                    (6, 9),
                    evidence="␛[31mRED",
                )
            )
        if self.recipe.mask.rule == "generation_tag" and not self.recipe.render.template.startswith("file:"):
            found.append(
                Finding(
                    "GEN001",
                    Severity.ERROR,
                    "the chat template has no generation tags",
                    index,
                    fix=Fix("add generation tags", template="generation_tags"),
                )
            )
        elif self.recipe.mask.rule != "completion":
            fix = Fix(
                "train the answer alone: set mask.rule to completion",
                (RecipeChange("mask.rule", self.recipe.mask.rule, "completion"),),
                trainer_keys={"hf-trainer": "mask the prompt's labels with -100"},
            )
            found.append(
                Finding(
                    "LAB002",
                    Severity.WARNING,
                    "6 of 14 trained tokens are text of user",
                    index,
                    0,
                    (1, 6),
                    evidence="[What][␣is]",
                    fix=fix,
                )
            )
        return tuple(found)

    def answer_findings(self, index: int) -> None:
        ticket = self.ticket
        self.asked.append(("findings", index))
        self.last["findings"] = (ticket, index)
        self.emit(self.findings_event())

    def findings_event(self) -> ev.FindingsReady:
        ticket, index = self.last["findings"]
        setup = (Finding("EOS008", Severity.INFO, "⏎ behind the stop token is trained", rows=(4,)),)
        stand, waived = apply_waivers(self.findings(index), read_waivers(self.recipe.waivers))
        return ev.FindingsReady(ticket, self.version, None, stand, setup, waived=len(waived), index=index)

    def answer_why(self, index: int, token: int) -> None:
        """Another mask rule turns over what only one of `completion` and `all` trains, and nothing the rest."""
        self.asked.append(("why", (index, token)))
        self.last["why"] = (self.ticket, (index, token))
        self.emit(self.why_event())

    def why_event(self) -> ev.WhyReady:
        ticket, (index, token) = self.last["why"]
        rule = "all" if self.recipe.mask.rule == "completion" else "completion"
        recipe = changed(self.recipe, "mask.rule", rule)
        now, then = (inspection(index, one, self.data).labels for one in (self.recipe, recipe))
        assert now is not None and then is not None
        differ = [(a == -100) != (b == -100) for a, b in zip(now.labels, then.labels)]
        ways = (
            (LabelFlip(diff(self.recipe, recipe), recipe, sum(differ), (("loss_on", rule),)),) if differ[token] else ()
        )
        return ev.WhyReady(ticket, self.version, None, ways, index=index, token=token)

    def answer_packs(self, start: int) -> None:
        ticket = self.ticket
        self.asked.append(("packs", start))
        if self.recipe.pack.strategy == "none":
            self.emit(ev.PacksReady(ticket, self.version, Problem("the recipe does not pack", "", "set pack.strategy")))
            return
        packs = []
        for first in range(start, min(start + 6, self.rows), 2):
            ids: tuple[int, ...] = ()
            labels: tuple[int, ...] = ()
            positions: tuple[int, ...] = ()
            documents = []
            for index in range(first, min(first + 2, self.rows)):
                example = self.make(index).example
                assert example is not None
                documents.append((index, len(ids), len(ids) + len(example.input_ids)))
                ids, labels = ids + example.input_ids, labels + example.labels
                positions += tuple(range(len(example.input_ids)))
            packs.append(Pack(tuple(documents), ids, labels, positions))
        longest = max(len(pack.input_ids) for pack in packs)
        batch = Batch(
            tuple(range(len(packs))),
            tuple(len(p.input_ids) for p in packs),
            tuple(p.input_ids + (0,) * (longest - len(p.input_ids)) for p in packs),
            tuple(p.labels + (-100,) * (longest - len(p.labels)) for p in packs),
            None,
        )
        self.emit(ev.PacksReady(ticket, self.version, None, tuple(packs), batch, 6))

    def answer_tags(self) -> None:
        ticket = self.ticket
        self.asked.append(("tags", None))
        self.emit(
            ev.TagsReady(
                ticket,
                self.version,
                None,
                "gemma",
                "{% generation %}x{% endgeneration %}",
                "--- a\n+++ b\n-x\n+{% generation %}x{% endgeneration %}\n",
                41,
            )
        )

    def answer_compare(self, index: int, recipe: Recipe, repairs: tuple[str, ...] | None = None) -> None:
        ticket = self.ticket
        self.asked.append(("comparison", index))
        made = [
            self.make(index),
            inspection(index, recipe, self.data, False, self.repairs if repairs is None else repairs),
        ]
        diff = "" if repairs is None else row_diff(made[0].row, made[1].row)
        self.emit(
            ev.ComparisonReady(
                ticket, self.version, None, compare_row(made), made[1], diff=diff, recipe=recipe, repairs=repairs
            )
        )

    def answer_count(self, recipe: Recipe, repairs: tuple[str, ...] | None = None, causes: bool = False) -> None:
        ticket = self.ticket
        self.asked.append(("count", recipe))
        counted = ComparisonCount()
        for index in range(self.rows):
            other = inspection(index, recipe, self.data, False, self.repairs if repairs is None else repairs)
            counted = counted.plus(compare_row([self.make(index), other]))
        self.emit(
            ev.CountReady(
                ticket,
                self.version,
                None,
                counted,
                self.rows,
                True,
                repaired=None if repairs is None else self.repair_count(repairs),
            )
        )

    def counted(self, repairs: tuple[str, ...]) -> dict[str, list[int]]:
        made = [inspection(index, self.recipe, self.data, False, repairs).row for index in range(self.rows)]
        return {
            "repaired": [row.index for row in made if row.repairs and row.left_out is None],
            "left out": [row.index for row in made if row.left_out],
        }

    def repair_count(self, repairs: tuple[str, ...]) -> ev.RepairCount:
        rows = self.counted(repairs)
        hit = len(rows["repaired"]) or len(rows["left out"])
        return ev.RepairCount(
            self.rows, len(rows["repaired"]), len(rows["left out"]), tuple((name, hit) for name in repairs)
        )

    def answer_repairs(self) -> None:
        ticket = self.ticket
        self.asked.append(("repairs", self.repairs))
        self.last["repairs"] = (ticket, None)
        self.emit(ev.RepairsCounted(ticket, self.version, None, self.repair_count(self.repairs), self.rows, True))

    def answer_write(self, target: str, log: str, marked: tuple[int, ...] = ()) -> None:
        ticket = self.ticket
        self.asked.append(("write", (target, log, marked)))
        counted = self.repair_count(self.repairs)
        written = partial(ev.RepairsWritten, ticket, None, None, target=target, log=log)
        self.emit(written(counted._replace(rows=counted.rows // 2), 0, self.rows))
        self.emit(written(counted._replace(dropped=counted.dropped + len(marked)), 0, self.rows, True))

    def corrected(self) -> None:
        """The proof says the provisional tokenizer was wrong: the row answers again."""
        self.provisional = False
        self.tokenizer = ev.TokenizerChanged("corrected", None, "the provisional tokenizer was wrong")
        self.emit(self.tokenizer)
        ticket, index = self.last["row"]
        made = self.make(index)
        assert made.tokens is not None
        other = replace(made.tokens, ids=flat((7, 8, 9, *made.tokens.ids[3:])))
        self.emit(ev.RowReady(ticket, self.version, None, replace(made, tokens=other)))


@asynccontextmanager
async def running(
    size: tuple[int, int] = (80, 24),
    worker: WordsWorker | None = None,
    settings: UserSettings | None = None,
    theme: str | None = "dark",
    *,
    recipe: Recipe | None = None,
    options: OpenOptions | None = None,
    kind: type[Workspace] = Workspace,
    in_ascii: bool = False,
) -> AsyncIterator[Any]:
    """The app over a real workspace whose worker works in this process."""
    from tui_driver import Driven

    worker = worker or WordsWorker()
    made = over(worker, recipe, options, kind)
    made.start()
    app = SftuiApp(made, settings or UserSettings(), theme=theme, in_ascii=in_ascii)
    async with app.run_test(size=size) as pilot:
        end: Any = worker
        driven: Any = Driven(app, pilot, made, end)
        await driven.settle()
        try:
            yield driven
        finally:
            made.close()
