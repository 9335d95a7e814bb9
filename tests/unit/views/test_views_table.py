"""What the table says of each token: cells by offsets, loss by what the trainer receives, words."""

from __future__ import annotations

from dataclasses import replace

import pytest
from inspections_by_hand import CHAT, C, H, inspection, stopped, weighted

from sftui.model import IGNORE_INDEX, NOWHERE, Example, Inspection, Reason, RenderedText, Stage
from sftui.runs import joined, labelled
from sftui.views.table import TokenTable, loss_changes, make_table
from sftui.views.words import REASONS, convention, explain, shift_warning, what_is_learnt, what_is_trained, why_stopped


def table(made: Inspection, *, tags: bool = True) -> TokenTable:
    built = make_table(made, tags=tags)
    assert built is not None
    return built


def test_loss_glyphs_in_both_views() -> None:
    built = table(inspection(kept=((0, 19),)))
    assert built.loss == "░" * 15 + "█" * 4 + "✂" * 3
    assert built.loss_shifted == "░" * 14 + "█" * 4 + "┊" + "✂" * 3
    assert [built.label_cell(i) for i in (0, 15, 19)] == ["·", "544", "✂"]


def test_a_row_without_labels_knows_its_tokens() -> None:
    built = table(stopped(Stage.LABELS))
    assert set(built.loss) == set(built.loss_shifted) == {"?"}
    assert what_is_learnt(built, 3) == explain(built, 3) == "labels are unknown"
    assert make_table(stopped(Stage.TOKENS)) is None


def test_left_and_middle_cuts_join() -> None:
    built = table(inspection(kept=((2, 5), (16, 20))))
    assert built.follower(4) == 16 and built.predecessor(16) == 4
    assert built.follower(19) is None and built.predecessor(2) is None and built.first == 2
    assert built.loss_shifted[4] == "█" and built.loss_shifted[19] == "┊"
    assert what_is_learnt(built, 4) == "sees …What → learns ,"


def test_a_split_row_is_several_examples() -> None:
    made = inspection()
    assert made.example is not None
    ids, labels = made.example.input_ids, made.example.labels
    parts = [Example(ids[a:b], labels[a:b], (1,) * (b - a)) for a, b in ((0, 16), (16, 22))]
    built = table(replace(made, example=parts[0], more=(parts[1],)))
    assert not built.joined and built.kept == ((0, 16), (16, 22))
    assert built.loss_shifted[15] == "┊" and built.follower(15) is None
    assert what_is_trained(built, 16) == "nothing precedes it: never predicted"


def test_the_example_wins_over_the_labels_before_cutting() -> None:
    made = inspection(kept=((0, 18),))
    assert made.example is not None
    forced = replace(
        made.example, input_ids=(*made.example.input_ids[:-1], 470), labels=(*made.example.labels[:-1], 470)
    )
    built = table(replace(made, example=forced))
    assert built.ids[17] == 470 and built.label_cell(17) == "470"
    odd = replace(made, example=replace(forced, input_ids=(1, 2), labels=(1, 2)))
    assert table(odd).ids[17] == 618


def test_preshifted_examples_show_unshifted() -> None:
    plain, shifted = table(inspection()), table(inspection(shifted=True))
    assert (plain.ids, plain.labels, plain.loss) == (shifted.ids, shifted.labels, shifted.loss)


def test_a_label_that_is_not_its_token_is_named() -> None:
    made = inspection()
    assert made.example is not None
    labels = list(made.example.labels)
    labels[16], labels[17] = 470, 31337
    built = table(replace(made, example=replace(made.example, labels=tuple(labels))))
    assert built.target_cell(16) == "<end_of_turn>" and built.target_cell(17) == "id 31337"
    assert what_is_learnt(built, 15) == "sees …Blue → learns <end_of_turn>"


def test_another_ignore_index_is_masked_too() -> None:
    made = inspection()
    assert made.example is not None and made.labels is not None
    swap = {IGNORE_INDEX: 0}
    labels = tuple(swap.get(v, v) for v in made.labels.labels)
    made = replace(
        made,
        labels=replace(made.labels, values=labels, ranges=labelled(labels)),
        example=replace(made.example, labels=labels),
    )
    built = make_table(made, ignore_index=0)
    assert built is not None and built.loss == "░" * 15 + "█" * 7


def test_oddity_20_text_is_read_by_offsets_not_by_decode() -> None:
    made = inspection(
        [("<|assistant|>", 0, H, 0), ("A", 0, C, 1), ("\ufffd", 0, C, 1), ("\ufffd", 0, C, 1), ("z", 0, C, 1)]
    )
    assert made.tokens is not None
    tokens = replace(
        made.tokens,
        starts=(0, 15, 16, 16, 18),
        ends=(15, 16, 17, 17, 19),
    )
    written = replace(made.token_text, surfaces=(b"<|assistant|>", b"A", b"\xe2\x9c", b"\x93", b"Z"))
    rendered = RenderedText("<|assistant|>\n\nA✓ z")
    built = table(replace(made, tokens=tokens, token_text=written, rendered=rendered), tags=False)
    assert built.cells == ("<|assistant|>", "A", "‹E2 9C›", "‹93›", "Z")
    assert built.tagged == ("<|assistant|>⏎⏎", "A", "‹E2 9C›", "‹93›", "␣z")


def test_tokens_that_stand_for_no_text_keep_their_surface() -> None:
    made = inspection(CHAT[:3])
    assert made.tokens is not None
    tokens = replace(made.tokens, starts=(NOWHERE, 5, 20), ends=(NOWHERE, 20, 24))
    assert table(replace(made, tokens=tokens), tags=False).tagged[0] == "<bos>"


def test_parts_carry_the_role() -> None:
    built = table(inspection())
    assert built.parts[0] == "bos" and built.parts[1] == "user header" and built.parts[15] == "assistant content"


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_has_words(reason: Reason) -> None:
    assert REASONS[reason] and not REASONS[reason].endswith(".")


def test_words_for_each_place() -> None:
    built = table(inspection(kept=((0, 19),)))
    assert what_is_learnt(built, 14) == "sees …⏎ → learns Blue"
    assert what_is_learnt(built, 3) == "not trained: prompt"
    assert what_is_learnt(built, 18) == "nothing follows: nothing left to predict"
    assert what_is_learnt(built, 20) == "cut: never reaches the trainer"
    assert what_is_trained(built, 15) == "sees …⏎ → learns Blue"
    assert explain(built, 15) == "trained, because it belongs to the completion"
    assert explain(built, 20) == "cut, because the row is longer than the limit; the trainer never sees it"
    whole = table(inspection([("a", 0, C, 1), ("b", 0, C, 1)]))
    assert explain(whole, 0).endswith("first token: never predicted, so no loss")


def test_shift_convention_and_its_warning() -> None:
    assert "the model's loss shifts them" in convention("internal") and shift_warning("internal") is None
    warning = shift_warning("preshifted")
    assert "input_ids[:-1]" in convention("preshifted") and warning is not None and "two tokens ahead" in warning


def test_why_a_row_is_dropped() -> None:
    assert why_stopped(inspection(dropped="900 tokens")) == "dropped by the trainer: 900 tokens"
    assert why_stopped(inspection()) is None
    built = table(inspection(dropped="900 tokens"))
    assert explain(built, 15) == "labelled, because it belongs to the completion; but the trainer drops the whole row"
    assert what_is_learnt(built, 14) == "if it were not dropped: sees …⏎ → learns Blue"


def test_a_weight_is_a_third_state() -> None:
    built = table(weighted(0.3, 0.0))
    assert built.loss == "░" * 15 + "█" * 2 + "▓" * 3 + "░" * 2
    assert built.loss_shifted == "░" * 14 + "█" * 2 + "▓" * 3 + "░" * 2 + "┊"
    assert [built.label_cell(i) for i in (14, 16, 18, 20)] == ["·", "581", "655", "470"], "a weight of 0 moves no label"
    assert explain(built, 18) == "trained with weight 0.3, because it belongs to the completion"
    assert explain(built, 16) == "trained, because it belongs to the completion"
    assert what_is_trained(built, 18) == "sees …␣most → learns ␣days ×0.3"
    assert what_is_learnt(built, 17) == "sees …␣most → learns ␣days ×0.3"
    assert what_is_trained(built, 20).startswith("not trained")
    assert loss_changes(built, False) == (15, 17, 20) and loss_changes(built, True) == (14, 16, 19, 21)


def test_neighbours_with_other_weights_are_told_apart() -> None:
    built = table(weighted(0.3, 0.5))
    assert loss_changes(built, False) == (15, 17, 20)
    assert loss_changes(table(weighted(float("nan"), float("nan"))), False) == (15, 17)
    assert loss_changes(table(inspection()), False) == (15,)


def test_a_masked_label_shows_the_weight_that_stands_beside_it() -> None:
    made = weighted()
    assert made.labels is not None and made.example is not None
    weights = joined([(15, -0.5), (7, 1.0)])
    built = table(replace(made, labels=replace(made.labels, weights=weights), example=None))
    assert explain(built, 3) == "masked with weight -0.5, because it belongs to the prompt"
    assert built.loss == "░" * 15 + "█" * 7


def test_the_weights_of_the_example_win() -> None:
    made = weighted(kept=((0, 18),))
    assert made.example is not None
    built = table(replace(made, example=replace(made.example, weights=joined([(17, 1.0), (1, 0.0)]))))
    assert built.loss == "░" * 15 + "█" * 2 + "░" + "✂" * 4 and built.weight(20) is None
