"""The checked-in outcomes of every example config, sftui's and the trainer's own: needs neither repositories nor
environments.
"""

from __future__ import annotations

from record_examples import kept, real, verdict, verdicts

ADMITTED = {"fsdp_transformer_layer_cls_to_wrap"}
"""TrainingArguments of the oldest transformers that LLaMA-Factory admits has it, that of the newest has not."""


def test_every_refusal_is_the_trainers_own_or_names_what_the_config_is_for() -> None:
    ours, theirs = kept(), real()
    assert set(theirs) <= set(ours)
    told = verdicts({key: one for key, one in ours.items() if key in theirs}, theirs)
    print(*(f"{number:4} {what}" for what, number in sorted(told.items())), sep="\n")
    assert [key for key in theirs if verdict(ours[key], theirs[key]) == "refused falsely"] == []


def test_no_key_that_the_trainer_reads_is_told_as_not_known() -> None:
    theirs = real()
    for key, one in kept().items():
        if key not in theirs:
            continue
        assert {path for path in one.strange if "." not in path} <= set(theirs[key].left), key
        assert not one.stops or theirs[key].outcome == "stops", key


def test_every_key_that_the_trainer_does_not_read_is_told() -> None:
    ours = kept()
    missed = {
        key: left
        for key, one in real().items()
        if ours[key].outcome == "opened"
        and (left := set(one.left) - set(ours[key].strange) - set(ours[key].stops) - ADMITTED)
    }
    assert missed == {}
