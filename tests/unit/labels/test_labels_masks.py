"""The mask rules on small hand-made rows, as tables."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sftui import labels as rules
from sftui.errors import RecipeError
from sftui.model import NOWHERE, Conversation, Kind, Labels, Message, Part, Reason, RenderedText, Tokens
from sftui.recipe import Length, Loss, Mask, Recipe
from sftui.runs import flat
from sftui.trainers import preset

#  0      1        2       3       4      5     6      7       8        9      10    11
#  <s>    user:    hi      <e>     \n     asst: yo     <e>     \n       asst:  bye   <e>
PARTS = [
    Part.BOS,
    Part.HEADER,
    Part.CONTENT,
    Part.TERMINATOR,
    Part.SEPARATOR,
    Part.HEADER,
    Part.CONTENT,
    Part.TERMINATOR,
    Part.SEPARATOR,
    Part.HEADER,
    Part.CONTENT,
    Part.TERMINATOR,
]
OWNERS = [NOWHERE, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2]
IDS = tuple(range(100, 112))


def tokens(prompt: tuple[int, ...] | None = None, parts: list[Part] | None = None) -> Tokens:
    n = len(IDS)
    return Tokens(
        ids=flat(IDS),
        starts=tuple(range(n)),
        ends=tuple(range(1, n + 1)),
        messages=tuple(OWNERS),
        parts=tuple(parts or PARTS),
        prompt=None if prompt is None else flat(prompt),
    )


def chat() -> Conversation:
    roles = ("user", "assistant", "assistant")
    return Conversation(Kind.CHAT, "messages", messages=tuple(Message({"role": r, "content": "x"}) for r in roles))


RENDERED = RenderedText(text="x" * 12)


def draw(mask: Mask, prompt: tuple[int, ...] | None = None, rendered: RenderedText = RENDERED) -> str:
    flags, _ = rules.draw(rules.Subject(tokens(prompt), rendered, chat()), mask)
    return "".join("█" if on else "░" for on in flags)


@pytest.mark.parametrize(
    ("mask", "prompt", "drawn"),
    [
        (Mask(rule="all"), None, "████████████"),
        (Mask(rule="completion"), IDS[:10], "░░░░░░░░░░██"),
        (Mask(rule="completion"), IDS[:9], "░░░░░░░░░███"),
        (Mask(rule="completion"), (*IDS, 1, 2, 3), "░░░░░░░░░░░░"),
        (Mask(rule="completion"), (100, 101, 7, 7), "░░░░████████"),
        (Mask(rule="completion", boundary="common_prefix"), (100, 101, 7, 7), "░░██████████"),
        (Mask(rule="completion", terminator="mask"), IDS[:10], "░░░░░░░░░░█░"),
        (Mask(rule="completion", trailing="mask"), IDS[:6], "░░░░░░██░███"),
        (Mask(rule="completion"), None, "████████████"),
        (Mask(rule="assistant"), None, "░░░░░░███░██"),
        (Mask(rule="assistant", trailing="mask"), None, "░░░░░░██░░██"),
        (Mask(rule="assistant", terminator="mask"), None, "░░░░░░█░░░█░"),
        (Mask(rule="assistant", turns="last"), None, "░░░░░░░░░░██"),
        (Mask(rule="assistant", roles=("user",)), None, "░░███░░░░░░░"),
        (Mask(rule="assistant", roles=("user", "assistant")), None, "░░███░███░██"),
        (Mask(rule="turn_full"), None, "░░░░░███████"),
        (Mask(rule="turn_full", turns="last"), None, "░░░░░░░░░███"),
    ],
)
def test_rule(mask: Mask, prompt: tuple[int, ...] | None, drawn: str) -> None:
    assert draw(mask, prompt) == drawn


@pytest.mark.parametrize(
    ("spans", "drawn"),
    [
        (((6, 8), (10, 12)), "░░░░░░██░░██"),
        (((2, 3),), "░░█░░░░░░░░░"),
        (((0, 1),), "████████████"),  # token 0 as the end counts as none: trained to the end, as transformers does
        (((40, 41), (6, 8)), "░░░░░░░░░░░░"),  # no token at the start: the search ends, later spans too
        (((6, 41),), "░░░░░░██████"),  # no token at the end: trained to the end
    ],
)
def test_generation_spans_follow_transformers(spans: tuple[tuple[int, int], ...], drawn: str) -> None:
    assert (
        draw(Mask(rule="generation_tag"), None, RenderedText("x" * 12, generation=spans, has_generation_tag=True))
        == drawn
    )


@pytest.mark.parametrize(
    ("spans", "drawn"),
    [
        (((6, 8), (10, 12)), "░░░░░░██░░██"),
        (((0, 1),), "█░░░░░░░░░░░"),
        (((40, 41), (6, 8)), "░░░░░░░░░░░░"),  # spans out of order: one that no token reaches hides those behind it
        (((6, 41),), "░░░░░░██████"),
        (((0, 0), (6, 8)), "░░░░░░██░░░░"),
        (((6, 6),), "░░░░░░░░░░░░"),
    ],
)
def test_generation_spans_since_transformers_5_24(spans: tuple[tuple[int, int], ...], drawn: str) -> None:
    rendered = RenderedText("x" * 12, generation=spans, has_generation_tag=True, overlapping=True)
    assert draw(Mask(rule="generation_tag"), None, rendered) == drawn


def test_a_token_that_reaches_into_a_generation_span_is_of_it_since_transformers_5_24() -> None:
    wide = Tokens(flat((1, 2, 3, 4, 5)), (0, 3, 5, 5, NOWHERE), (3, 5, 6, 6, NOWHERE), (0,) * 5, (Part.CONTENT,) * 5)
    for spans, old, new in (
        (((4, 6),), "░██░░", "░███░"),  # the last character is two tokens of bytes: the second counts, too
        (((1, 2),), "█████", "█░░░░"),
        (((4, 4),), "░█░░░", "░█░░░"),
    ):
        for overlapping, drawn in ((False, old), (True, new)):
            rendered = RenderedText("x" * 6, generation=spans, has_generation_tag=True, overlapping=overlapping)
            flags, _ = rules.draw(rules.Subject(wide, rendered, chat()), Mask(rule="generation_tag"))
            assert "".join("█" if on else "░" for on in flags) == drawn, (spans, overlapping)


@pytest.mark.parametrize("overlapping", [False, True])
def test_what_is_put_before_the_text_is_of_no_generation_span(overlapping: bool) -> None:
    row = Tokens(flat((1, 2, 3)), (NOWHERE, 0, 1), (NOWHERE, 1, 2), (0,) * 3, (Part.BOS, Part.CONTENT, Part.CONTENT))
    rendered = RenderedText("ab", generation=((0, 1),), has_generation_tag=True, overlapping=overlapping)
    flags, _ = rules.draw(rules.Subject(row, rendered, chat()), Mask(rule="generation_tag"))
    assert [*flags] == [False, True, False]


def test_an_empty_generation_block_at_the_very_start_stops_the_run() -> None:
    with pytest.raises(RecipeError, match="stops the run"):
        draw(
            Mask(rule="generation_tag"),
            None,
            RenderedText("x" * 12, generation=((0, 0), (6, 8)), has_generation_tag=True),
        )


def test_generation_rule_without_tag_is_refused() -> None:
    with pytest.raises(RecipeError, match="trains nothing"):
        draw(Mask(rule="generation_tag"))


WHY = {
    **{Reason.PROMPT: "p", Reason.BOUNDARY: "b", Reason.COMPLETION: "C", Reason.ASSISTANT: "A", Reason.HEADER: "h"},
    **{Reason.TERMINATOR: "T", Reason.TERMINATOR_OFF: "t", Reason.TRAILING: "s", Reason.ROLE: "r"},
    **{Reason.EARLIER: "e", Reason.WHOLE: "W", Reason.APPENDED: "E"},
}


@pytest.mark.parametrize(
    ("mask", "prompt", "drawn"),
    [
        (Mask(rule="all"), None, "WWWWWWWWWWWWE"),
        (Mask(rule="completion"), IDS[:6], "ppppppCTCCCTE"),
        (Mask(rule="completion", terminator="mask", trailing="mask"), IDS[:6], "ppppppCtsCCtE"),
        (Mask(rule="completion"), (*IDS, 1, 2), "ppppppppppppb"),
        (Mask(rule="assistant"), None, "rrrrrhATAhATE"),
        (Mask(rule="assistant", terminator="mask"), None, "rrrrrhAtshAtE"),
        (Mask(rule="assistant", turns="last"), None, "rrrrreeeehATE"),
        (Mask(rule="assistant", roles=("tool",)), None, "rrrrrrrrrrrrE"),
        (Mask(rule="turn_full", turns="last"), None, "rrrrreeeeAAAr"),
    ],
)
def test_why_tokens_are_trained_or_not(mask: Mask, prompt: tuple[int, ...] | None, drawn: str) -> None:
    """The row with an EOS behind it that stands for no text: trained where an answer is."""
    row = tokens(prompt)
    row = replace(
        row,
        ids=flat((*IDS, 2)),
        starts=(*row.starts, NOWHERE),
        ends=(*row.ends, NOWHERE),
        messages=(*OWNERS, NOWHERE),
        parts=(*PARTS, Part.INJECTED),
    )
    flags, reasons = rules.draw(rules.Subject(row, RENDERED, chat()), mask)
    assert "".join(WHY[reason] for reason in reasons) == drawn
    assert [*flags] == [letter in "CATW" or (letter == "E" and mask.roles != ("tool",)) for letter in drawn]


def test_a_row_of_an_appended_eos_and_one_of_nothing() -> None:
    alone = Tokens(flat((2,)), (NOWHERE,), (NOWHERE,), (NOWHERE,), (Part.INJECTED,))
    nothing = Tokens(flat(()), (), (), (), ())
    for mask, trains in ((Mask(rule="all"), True), (Mask(rule="assistant"), True)):
        flags, reasons = rules.draw(rules.Subject(alone, RenderedText(""), chat()), mask)
        assert [*flags] == [trains] and [*reasons] == [Reason.APPENDED]
        flags, reasons = rules.draw(rules.Subject(nothing, RenderedText(""), chat()), mask)
        assert not len(flags) and not len(reasons)


def test_reasons_tell_prompt_from_boundary() -> None:
    _, reasons = rules.draw(rules.Subject(tokens((100, 101, 7, 7)), RENDERED, chat()), Mask(rule="completion"))
    assert reasons[:5] == (Reason.PROMPT,) * 2 + (Reason.BOUNDARY,) * 2 + (Reason.COMPLETION,)


def test_stored_labels_are_taken_as_they_are() -> None:
    stored = Conversation(Kind.TOKENS, "tokenized", input_ids=IDS, labels=(-100,) * 11 + (111,))
    made = rules.label(tokens(), RENDERED, stored, preset())
    assert made.labels == (-100,) * 11 + (111,)
    assert made.reasons[0] is Reason.GIVEN_MASKED and made.reasons[-1] is Reason.GIVEN


def test_ids_without_labels_need_the_rule_all() -> None:
    bare = Conversation(Kind.TOKENS, "tokenized", input_ids=IDS)
    with pytest.raises(RecipeError, match="no labels"):
        rules.label(tokens(), RENDERED, bare, preset())
    assert rules.label(tokens(), RENDERED, bare, Recipe("hf-trainer", mask=Mask(rule="all"))).labels == IDS


@pytest.mark.parametrize(
    ("length", "kept", "dropped"),
    [
        (Length(), ((0, 12),), False),
        (Length(max=12), ((0, 12),), False),
        (Length(max=5), ((0, 5),), False),
        (Length(max=5, over="cut_left"), ((7, 12),), False),
        (Length(max=5, over="drop"), ((0, 12),), True),
        (Length(max=12, over="drop"), ((0, 12),), False),
        (Length(max=12, over="error"), ((0, 12),), False),
        (Length(min_tokens=13), ((0, 12),), True),
        (Length(min_tokens=12), ((0, 12),), False),
    ],
)
def test_length(length: Length, kept: object, dropped: bool) -> None:
    found, why = rules.keep(12, length)
    assert found == kept and (why is not None) is dropped


def test_a_longer_row_stops_where_the_recipe_says_so() -> None:
    with pytest.raises(RecipeError, match="12 tokens and the trainer stops at rows over"):
        rules.keep(12, Length(max=11, over="error"))


def test_values_inside_kept_ranges() -> None:
    assert rules.within(((3, 5),), IDS) == IDS[3:5]
    assert rules.within(((0, 1), (4, 6)), IDS) == (IDS[0], *IDS[4:6])


def test_a_stretch_of_no_tokens_leaves_no_trace() -> None:
    on, why = rules.drawn([(0, (True, Reason.ASSISTANT)), (2, (False, Reason.PROMPT)), (0, (True, Reason.TERMINATOR))])
    assert list(on.runs()) == [(0, 2, False)] and list(why.runs()) == [(0, 2, Reason.PROMPT)]


def test_unlabelled_rows_are_dropped_only_when_asked() -> None:
    cut = Length(max=5, drop_unlabelled=True)
    row = tokens(IDS[:10])
    assert rules.label(row, RENDERED, chat(), Recipe("hf-trainer", length=cut)).dropped == "no trained token is left"
    assert rules.label(row, RENDERED, chat(), Recipe("hf-trainer", length=Length(max=5))).dropped is None


def test_shift_drops_last_input_and_first_label() -> None:
    labels = Labels((-100,) * 10 + (110, 111), ((10, 12),), (Reason.PROMPT,) * 12, ((0, 12),))
    plain = rules.example(tokens(), labels, preset())
    shifted = rules.example(tokens(), labels, Recipe("hf-trainer", loss=Loss(shift="preshifted")))
    assert plain and shifted
    assert shifted.input_ids == plain.input_ids[:-1] and shifted.labels == plain.labels[1:]
    assert len(shifted.attention_mask) == 11 and shifted.shifted


def test_ignore_index_reaches_the_example_only() -> None:
    labels = Labels((-100,) * 11 + (111,), ((11, 12),), (Reason.PROMPT,) * 12, ((0, 12),))
    made = rules.example(tokens(), labels, Recipe("hf-trainer", mask=Mask(ignore_index=-1)))
    assert made and made.labels == (-1,) * 11 + (111,) and made.trained == 1


VERDICTS = st.tuples(st.integers(0, 6), st.tuples(st.booleans(), st.sampled_from([Reason.PROMPT, Reason.ASSISTANT])))


@given(st.data(), st.lists(VERDICTS, max_size=8))
def test_a_mask_outside_ranges_is_as_long_as_before(data: st.DataObject, verdicts: list[rules.Verdict]) -> None:
    mask = rules.drawn(verdicts)
    size = sum(length for length, _ in verdicts)
    borders = data.draw(st.lists(st.integers(0, size), unique=True).map(sorted))
    kept = list(zip(borders[::2], borders[1::2]))
    flags, reasons = rules.outside(mask, kept)
    inside = [any(start <= i < end for start, end in kept) for i in range(size)]
    assert list(flags) == [on and here for on, here in zip(mask[0], inside)]
    assert list(reasons) == [why if here else Reason.TRUNCATED for why, here in zip(mask[1], inside)]
