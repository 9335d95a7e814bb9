"""Hashes of rows in the bytes that they have: what a dict would say, at a tenth of its memory."""

from __future__ import annotations

import pickle
import tracemalloc
from hashlib import blake2b

from hypothesis import given
from hypothesis import strategies as st

from sftui.findings.hashes import HASH, Hashes

# Of two letters, so that a hash often stands across two others and all are in a few buckets.
KEYS = st.lists(st.sampled_from([b"\0", b"\1"]), min_size=HASH, max_size=HASH).map(b"".join)
VALUES = st.binary(min_size=3, max_size=3)
STEPS = st.lists(st.tuples(st.sampled_from(["add", "change", "discard"]), KEYS, VALUES), max_size=60)


@given(STEPS)
def test_says_what_a_dict_says(steps: list[tuple[str, bytes, bytes]]) -> None:
    ours, theirs = Hashes(3), dict[bytes, bytes]()
    for step, key, value in steps:
        if step == "add":
            assert ours.add(key, value) == theirs.get(key)
            theirs.setdefault(key, value)
        elif step == "change" and key in theirs:
            ours.change(key, value)
            theirs[key] = value
        elif step == "discard":
            ours.discard(key)
            theirs.pop(key, None)
        assert (key in ours) == (key in theirs) and ours.get(key) == theirs.get(key)
    for one in (ours, pickle.loads(pickle.dumps(ours))):
        assert dict(one.items()) == theirs and len(one) == len(theirs)
        assert sorted(one) == sorted(one.alone()) == sorted(theirs)
        assert sorted(one.values()) == sorted(theirs.values())


@given(st.lists(KEYS), st.lists(KEYS))
def test_one_digest_for_the_same_hashes_in_any_order(some: list[bytes], others: list[bytes]) -> None:
    made = [Hashes(), Hashes(), Hashes(1)]
    for keys, one in zip((some, some[::-1], others), made):
        for key in keys:
            one.add(key, b"x" * one.width)
    assert made[0].digest() == made[1].digest() == made[1].alone().digest()
    assert (made[0].digest() == made[2].digest()) == (set(some) == set(others))


def test_a_hash_takes_hardly_more_than_its_bytes() -> None:
    made, count = Hashes(5), 100_000
    tracemalloc.start()
    try:
        for i in range(count):
            made.add(blake2b(i.to_bytes(4, "big"), digest_size=HASH).digest(), i.to_bytes(5, "big"))
        assert len(made) == count
        each = tracemalloc.get_traced_memory()[0] / count
    finally:
        tracemalloc.stop()
    assert HASH + 5 < each < 1.9 * (HASH + 5), f"{each:.1f} bytes"  # the buckets themselves weigh less among more
