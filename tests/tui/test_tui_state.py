"""The inspector's state: each transition by a table, without a screen."""

from __future__ import annotations

from array import array
from itertools import product

import pytest

from sftui.session.marks import RowMarks
from sftui.trainers import preset
from sftui.tui.arrangement import BOX, arrange, place, resized
from sftui.tui.contexts import (
    BATCH,
    COMPARE,
    CONVERSATION,
    CONVERSATION_PANE,
    DOCUMENT,
    FIGURES,
    FINDINGS,
    LIST,
    PACKS,
    RAW,
    RECIPE,
    RENDERED,
    TOKENS,
)
from sftui.tui.state import (
    AuditState,
    BatchState,
    ComparisonState,
    FocusState,
    Hits,
    LastMove,
    ReadingState,
    Search,
    SearchState,
    SessionState,
    Sizes,
    State,
    Status,
)
from sftui.workspace import SearchQuery
from sftui.workspace import events as ev

QUERY = SearchQuery("text", "x")
RULE = preset()


@pytest.mark.parametrize(
    ("view", "following"),
    [
        (None, CONVERSATION),
        (CONVERSATION, RENDERED),
        (RENDERED, RAW),
        (RAW, None),
        (FINDINGS, CONVERSATION),
        (BATCH, CONVERSATION),
    ],
)
def test_the_views_come_in_turn(view: str | None, following: str | None) -> None:
    assert FocusState(view=view).following() == following


@pytest.mark.parametrize(
    ("row", "token", "context", "pane"),
    [
        (0, 0, LIST, TOKENS),
        (1, 0, LIST, LIST),
        (0, 1, TOKENS, TOKENS),
        (1, 0, TOKENS, TOKENS),
        (1, 0, FINDINGS, TOKENS),
    ],
)
def test_who_moved_last_is_whoever_held_the_keys_then(row: int, token: int, context: str, pane: str) -> None:
    assert LastMove().to(row, token, context) == LastMove(pane, row, token)
    assert LastMove(LIST, row, token).to(row, token, TOKENS).pane == LIST, "the keys alone move nothing"


@pytest.mark.parametrize(
    ("name", "context"), [(CONVERSATION, DOCUMENT), (COMPARE, DOCUMENT), (FINDINGS, FINDINGS), (FIGURES, FIGURES)]
)
def test_a_view_that_is_opened_gets_the_keys_and_gives_them_back(name: str, context: str) -> None:
    opened = FocusState(context=LIST, recipe=True).opened(name)
    assert opened == FocusState(context, name, recipe=True)
    assert opened.closed() == FocusState(TOKENS, None, recipe=True)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (FocusState(), FocusState(RECIPE, recipe=True)),
        (FocusState(RECIPE, recipe=True), FocusState(TOKENS)),
        (FocusState(TOKENS, recipe=True), FocusState(RECIPE, recipe=True)),
        (FocusState(FINDINGS, FINDINGS), FocusState(RECIPE, FINDINGS, recipe=True)),
    ],
    ids=["opens", "closes", "takes the keys", "beside a view"],
)
def test_the_recipe_opens_takes_the_keys_and_closes(before: FocusState, after: FocusState) -> None:
    assert before.recipe_toggled() == after


@pytest.mark.parametrize(
    ("what", "size", "panes"),
    [
        (FocusState(), (80, 24), (LIST, TOKENS)),
        (FocusState(rows=False), (80, 24), (TOKENS,)),
        (FocusState(view=RAW), (80, 24), (LIST, DOCUMENT)),
        (FocusState(view=RAW), (80, 40), (LIST, TOKENS, DOCUMENT)),
        (FocusState(view=FINDINGS), (120, 24), (LIST, TOKENS, FINDINGS)),
        (FocusState(recipe=True), (80, 24), (RECIPE, TOKENS)),
        (FocusState(recipe=True, view=FIGURES), (140, 24), (RECIPE, FIGURES)),
        (FocusState(recipe=True, view=FIGURES), (160, 24), (LIST, RECIPE, TOKENS, FIGURES, FINDINGS)),
        (FocusState(), (160, 45), (LIST, TOKENS, CONVERSATION_PANE, FINDINGS)),
        (FocusState(view=CONVERSATION), (200, 50), (LIST, TOKENS, CONVERSATION_PANE, FINDINGS)),
        (FocusState(view=FIGURES), (200, 50), (LIST, TOKENS, FIGURES, CONVERSATION_PANE, FINDINGS)),
        (FocusState(view=COMPARE, rows=False), (160, 24), (TOKENS, DOCUMENT, FINDINGS)),
        (FocusState(), (240, 40), (LIST, TOKENS, CONVERSATION_PANE, FINDINGS)),
        (FocusState(recipe=True), (300, 80), (LIST, RECIPE, TOKENS, CONVERSATION_PANE, FINDINGS)),
        (FocusState(alone=True), (300, 80), (TOKENS,)),
        (FocusState(FINDINGS, alone=True), (300, 80), (FINDINGS,)),
        (FocusState(FINDINGS, alone=True), (80, 24), (TOKENS,)),
        (FocusState(DOCUMENT, RAW, alone=True), (80, 24), (DOCUMENT,)),
    ],
)
def test_which_panes_are_seen(what: FocusState, size: tuple[int, int], panes: tuple[str, ...]) -> None:
    assert arrange(what, *size).panes == panes


VIEWS = (None, CONVERSATION, RENDERED, RAW, BATCH, PACKS, COMPARE, FINDINGS, FIGURES)
SIZES = ((60, 20), (80, 24), (80, 40), (100, 30), (120, 36), (160, 24), (160, 45), (200, 50), (240, 60), (300, 80))


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_panes_fill_the_body_and_do_not_overlap(size: tuple[int, int]) -> None:
    """Of every cell one pane, or its frame: whatever is open, wanted alone, or made larger by hand."""
    width, height = size[0], size[1] - 4
    for view, recipe, rows, alone, more in product(VIEWS, (False, True), (False, True), (False, True), (0, 9, -999)):
        sizes = Sizes(more, more, more, more, more)
        what = FocusState(view=view, recipe=recipe, rows=rows, alone=alone, sizes=sizes)
        now = arrange(what, *size)
        boxes = place(now, sizes, width, height, 23)
        assert set(boxes) == set(now.panes)
        taken = [[0] * width for _ in range(height)]
        for box in boxes.values():
            assert box.width > 0 and box.height > 0, (what, boxes)
            for y in range(box.y, box.y + box.height):
                for x in range(box.x, box.x + box.width):
                    taken[y][x] += 1
        assert {cell for row in taken for cell in row} <= {0, 1}, (what, boxes)
        framed = sum((box.width + 2) * (box.height + 2) for box in boxes.values() if box.frame == BOX)
        ruled = sum(box.width * (box.height + (box.frame == "rule")) for box in boxes.values() if box.frame != BOX)
        assert framed + ruled == width * height, (what, boxes)


@pytest.mark.parametrize("size", [(160, 45), (200, 50), (240, 60), (300, 80)], ids=str)
@pytest.mark.parametrize("view", VIEWS)
def test_wide_screens_show_tokens_conversation_and_findings_whatever_is_open(
    size: tuple[int, int], view: str | None
) -> None:
    what = FocusState(view=view)
    now = arrange(what, *size)
    assert {TOKENS, CONVERSATION_PANE, FINDINGS} <= set(now.panes) and {CONVERSATION, FINDINGS} <= set(now.views)
    boxes = place(now, Sizes(), size[0], size[1] - 3, 23)
    assert boxes[LIST].width >= 41, "with previews"
    assert boxes[TOKENS].width >= 60 and boxes[CONVERSATION_PANE].width >= 40


@pytest.mark.parametrize("context", [LIST, TOKENS, CONVERSATION_PANE, FINDINGS])
@pytest.mark.parametrize("step", [6, -6])
def test_a_pane_is_made_wider_as_far_as_the_others_leave_room_and_back(context: str, step: int) -> None:
    what, size, body = FocusState(context), (200, 50), (200, 47)

    def width(what: FocusState) -> int:
        return place(arrange(what, *size), what.sizes, *body, 23)[context].width

    once = resized(what, step, 0, size, body, 23)
    assert width(once) == width(what) + step
    assert width(resized(once, -step, 0, size, body, 23)) == width(what)
    far = once
    for _ in range(60):
        far = resized(far, step, 0, size, body, 23)
    assert resized(far, step, 0, size, body, 23) == far, "clamped"
    back = resized(far, -step, 0, size, body, 23)
    assert width(back) == width(far) - step, "the way back begins at once"


@pytest.mark.parametrize(
    ("context", "lower"), [(CONVERSATION_PANE, FINDINGS), (FINDINGS, CONVERSATION_PANE), (TOKENS, DOCUMENT)]
)
def test_a_pane_is_made_higher_at_the_cost_of_the_one_above_or_below(context: str, lower: str) -> None:
    what, size, body = FocusState(context, RAW), (200, 50), (200, 47)

    def height(what: FocusState, pane: str) -> int:
        return place(arrange(what, *size), what.sizes, *body, 23)[pane].height

    made = resized(what, 0, 2, size, body, 23)
    assert (height(made, context), height(made, lower)) == (height(what, context) + 2, height(what, lower) - 2)
    for _ in range(60):
        made = resized(made, 0, 2, size, body, 23)
    assert height(made, lower) == 3


def test_what_has_no_neighbour_keeps_its_size() -> None:
    for what, size in (
        (FocusState(), (60, 20)),
        (FocusState(alone=True), (200, 50)),
        (FocusState(rows=False), (80, 24)),
    ):
        for cells, lines in ((6, 0), (0, 2), (-6, 0)):
            assert resized(what, cells, lines, size, (size[0], size[1] - 3), 23) == what


@pytest.mark.parametrize(
    ("what", "holder"),
    [
        (FocusState(LIST), LIST),
        (FocusState(LIST, rows=False), TOKENS),
        (FocusState(TOKENS, view=RAW), DOCUMENT),
        (FocusState(RECIPE, view=FINDINGS), FINDINGS),
    ],
)
def test_a_hidden_pane_gives_its_keys_to_the_nearest(what: FocusState, holder: str) -> None:
    assert arrange(what, 80, 24).holder(what.context, what.view) == holder


def test_the_conversation_that_stands_there_has_the_keys_of_the_one_that_is_opened() -> None:
    opened = FocusState().opened(CONVERSATION)
    assert arrange(opened, 200, 50).holder(opened.context, opened.view) == CONVERSATION_PANE
    assert arrange(opened, 120, 36).holder(CONVERSATION_PANE, opened.view) == DOCUMENT
    assert arrange(FocusState(), 120, 36).holder(CONVERSATION_PANE) == TOKENS


def test_what_is_opened_ends_that_a_pane_is_alone() -> None:
    alone = FocusState(alone=True)
    assert not any(made.alone for made in (alone.opened(RAW), alone.closed(), alone.recipe_toggled()))


@pytest.mark.parametrize(
    ("start", "forward", "within"),
    [(3, True, (3, False)), (10, True, (0, True)), (-1, False, (9, True)), (-1, True, (0, True))],
)
def test_a_search_begins_at_the_other_end_where_there_is_no_row(
    start: int, forward: bool, within: tuple[int, bool]
) -> None:
    found = Search(QUERY, start, forward).within(Status(rows=10, exact=True))
    assert (found.start, found.wrapped) == within


@pytest.mark.parametrize(
    ("search", "again"),
    [
        (Search(QUERY, 3, True), Search(QUERY, 0, True, True)),
        (Search(QUERY, 3, False), Search(QUERY, 9, False, True)),
        (Search(QUERY, 0, True), None),
        (Search(QUERY, 9, False), None),
        (Search(QUERY, 3, True, True), None),
    ],
)
def test_a_search_goes_round_once(search: Search, again: Search | None) -> None:
    assert search.again(Status(rows=10, exact=True)) == again


def test_hits_are_counted_part_by_part_and_keep_what_they_were() -> None:
    first = ev.HitsCounted(1, 1, None, 0, 20, array("L", [2, 5]), array("L", [3, 1]))
    rest = ev.HitsCounted(1, 1, None, 20, 40, array("L", [30]), array("L", [2]), True)
    some = Hits(QUERY).plus(first)
    whole = some.plus(rest)
    assert [some.place(2, 0), some.place(5, 0), some.place(30, 0)] == ["1 of 4 so far", "4 of 4 so far", ""]
    assert [whole.place(2, 2), whole.place(30, 1), whole.place(3, 0)] == ["3 of 6", "6 of 6", ""]
    assert whole.plus(first).place(30, 0) == "", "counted anew from the first row on"


def test_another_recipe_forgets_what_was_counted_and_goes_on_with_what_is_being_counted() -> None:
    counted = SearchState(QUERY, hits=Hits(QUERY, 40, True))
    assert counted.under_another_recipe().hits == Hits()
    assert counted._replace(counting=7).under_another_recipe().hits == Hits(QUERY)


def test_a_search_that_finds_nothing_keeps_the_hit_before() -> None:
    began = SearchState().began(Search(QUERY, 0, True), 3)
    assert (began.query, began.ticket) == (QUERY, 3)
    assert began.ended()._replace(running=None) == SearchState(QUERY)


@pytest.mark.parametrize(
    ("held", "told"),
    [(ComparisonState(), "more"), (ComparisonState(other=RULE, name="b", description="before"), "more")],
)
def test_another_side_is_compared_from_the_beginning(held: ComparisonState, told: str) -> None:
    made = held._replace(on_b=True).chosen(RULE, "b", ("trim",), told, True)
    assert (made.other, made.name, made.repairs, made.description) == (RULE, "b", ("trim",), "more")
    assert made.answer is None and made.counted is None and made.of_finding


def test_the_same_side_keeps_its_words() -> None:
    held = ComparisonState(other=RULE, name="b", description="before")
    assert held.chosen(RULE, "b", None, "", False).description == "before"
    assert held.chosen(RULE, "c", None, "", False).description == ""


@pytest.mark.parametrize(("done", "running"), [(False, True), (True, False)])
def test_an_audit_runs_until_it_is_done(done: bool, running: bool) -> None:
    began = AuditState(answer=ev.AuditReady(1, 1, None, 3)).began(7)
    assert began.running and began.answer is None
    assert began.answered(ev.AuditReady(7, 1, None, 40, done=done)).running == running


def test_a_batch_is_asked_for_anew_for_another_row_and_kept_on_screen_under_another_recipe() -> None:
    ready = ev.BatchReady(1, 1, None)
    held = BatchState().requested(BATCH, 3).answered(ready)
    assert held.begins_with(BATCH, 3) and not held.begins_with(BATCH, 4) and not held.begins_with(PACKS, 3)
    assert held.under_another_recipe(BATCH).batch == ready and held.under_another_recipe(PACKS).batch is None


def test_what_the_status_line_says_of_mark_and_data_follows() -> None:
    state = State(SessionState(RULE)).put(
        SessionState(RULE, RowMarks().toggled(0, "drop")), ReadingState(damage="cut off")
    )
    shown = state.status_line(2, "12")
    assert (shown.mark, shown.data, shown.notes, shown.pending) == ("D drop", "✗ damaged", 2, "12")
    moved = state.put(state.status._replace(trained=5).at(1), state.reading._replace(changed=True))
    shown = moved.status_line(0, "")
    assert (shown.mark, shown.data, shown.trained) == ("", "✗ changed on disk", None)
    assert state.status.row == 0, "the state before stays as it was"
