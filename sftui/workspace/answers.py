"""What the panes show of rows, the short jobs of the worker: findings, what turns a label over, batches and packs, and
generation tags for the chat template, the fix that no knob can make."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import replace

from sftui.errors import SftuiError
from sftui.findings import Context, Finding
from sftui.model import Conversation, Inspection
from sftui.session.deciding import decide
from sftui.session.opened import HEAVY, OpenData
from sftui.session.ready import Ready
from sftui.session.trial import with_cures, with_pair
from sftui.workspace.events import Answering, Answers, BatchReady, FindingsReady, PacksReady, TagsReady, WhyReady
from sftui.workspace.requests import BatchRequest, FindingsRequest, PacksRequest, WhyRequest

SETUP = "the setup's findings"
MOST_PACKED = 1000
MOST_TOKENS = 65_536
"""A packing group of no more rows and tokens is packed whole, as `sftui encode` packs it."""
MOST_PROVEN = 300
MOST_BYTES = 500_000
"""How much of the rows is gathered; the proof takes about half a second then, and a row requested meanwhile waits."""


def findings(session: OpenData, request: FindingsRequest, answer: Answering[FindingsReady]) -> Answers[FindingsReady]:
    """The row's findings at once, then with those of the set-up, which are worked out once a recipe, then with the
    cures of each that were tried and help."""
    whole = session.ready()
    context = whole.checks()
    found, waived = whole.sifted(whole.inspect(request.index))
    ready = answer(found, waived=waived, tried=False)
    known: tuple[tuple[Finding, ...], int] | None = context.memo.get(SETUP)
    if known is None:
        yield ready
        yield from (None for _ in _setup(whole, context))
        known = context.memo[SETUP]
    ready = replace(ready, setup=known[0], setup_waived=known[1])
    yield ready
    row = yield from _with_cures(whole, found)
    setup = yield from _with_cures(whole, known[0])
    yield replace(ready, findings=row, setup=setup, tried=True)


def why(session: OpenData, request: WhyRequest, answer: Answering[WhyReady]) -> Answers[WhyReady]:
    """The ways of a token, once all recipes were tried on its row."""
    yield answer(*(yield from decide(session.ready(), request.index, request.token)))


def _with_cures(session: Ready, found: tuple[Finding, ...]) -> Generator[None, None, tuple[Finding, ...]]:
    made = []
    for finding in found:
        tried = yield from with_cures(session, finding)
        made.append((yield from with_pair(session, tried)))
    return tuple(made)


def _setup(session: Ready, context: Context) -> Iterator[None]:
    """Check the set-up with the first rows, a row at a time, and keep what was found in the context."""
    from sftui.findings import check_setup

    sample = []
    for row in session.sample:
        if row.size <= HEAVY:
            sample.append(session.inspect_row(row, text=False))
            yield None
    context.memo[SETUP] = session.sift(check_setup(context, sample))


def batch(session: OpenData, request: BatchRequest, answer: Answering[BatchReady]) -> Answers[BatchReady]:
    """The rows from a place on as the collator makes one batch of them, or of their packs."""
    ready = session.ready()
    if ready.recipe.pack.strategy == "none":
        yield answer(ready.batch(request.start, request.rows))
        return
    rows = yield from _grouped(ready, request.start)
    yield answer(ready.packs(rows, request.rows)[1])


def packs(session: OpenData, request: PacksRequest, answer: Answering[PacksReady]) -> Answers[PacksReady]:
    """The rows of a packing group, or many, packed as one."""
    ready = session.ready()
    rows = yield from _grouped(ready, request.start)
    yield answer(*ready.packs(rows), len(rows))


def _grouped(ready: Ready, start: int) -> Generator[None, None, list[Inspection]]:
    """Rows, prepared one at a time until they are a packing group, or many."""
    ready.checks()
    recipe = ready.recipe
    made: list[Inspection] = []
    tokens, passed = 0, 0
    while tokens < MOST_TOKENS and len(made) < min(MOST_PACKED, recipe.pack.group or MOST_PACKED):
        index = start + len(made) + passed
        if ready.past_end(index):
            break
        inspection = ready.inspect_row(ready.row(index), spans=False)
        if made and inspection.evaluates != made[0].evaluates:  # rows that train and rows that evaluate never meet
            passed += 1
            yield None
            continue
        made.append(inspection)
        tokens += sum(len(example.input_ids) for example in inspection.examples)
        yield None
    return made


def tags(session: OpenData, answer: Answering[TagsReady]) -> Answers[TagsReady]:
    """The tagged template with its diff; SftuiError where there is none."""
    tools = session.ready().checks().tools
    template = tools.default_template
    if template is None:
        raise SftuiError("there is no chat template to add tags to", fix="choose one with T")
    from sftui.templates.tags.surgery import add_generation_tags

    chats: list[Conversation] = []
    size = 0
    for number, row in enumerate(session.rows()):
        if number >= MOST_PROVEN or size > MOST_BYTES:
            break
        size += row.size
        found = session.early(row).conversation if row.size <= HEAVY else None
        if found is not None:
            chats.append(found)
        yield None
    special, options = dict(tools.special_tokens), session.recipe.render
    done = add_generation_tags(
        template.source, template.name, special, chats, options=options, rendering=template.rendering
    )
    if done.refused is not None:
        raise SftuiError(f"no tags were added to {template.name}", why=done.refused)
    yield answer(template.name, done.source, done.diff, done.proven)
