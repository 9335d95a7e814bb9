"""Character offsets of pieces whose tokenizer gives none, from how they spell the text."""

from __future__ import annotations

from collections.abc import Sequence

from sftui.model import NOWHERE


def spell(text: str, surfaces: Sequence[bytes]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Character offsets of pieces that spell the text byte for byte; all NOWHERE where they do not.

    One leading space that the text does not have (a dummy prefix) is allowed for. Pieces of one
    character share its span.
    """
    data = text.encode("utf-8")
    joined = b"".join(surfaces)
    shift = 1 if joined == b" " + data else 0
    if joined[shift:] != data:
        return (NOWHERE,) * len(surfaces), (NOWHERE,) * len(surfaces)
    character = [0] * (len(data) + 1)
    at = -1
    for i, byte in enumerate(data):
        at += byte & 0xC0 != 0x80
        character[i] = at
    character[len(data)] = len(text)
    starts, ends = [], []
    place = -shift
    for surface in surfaces:
        begin, end = max(0, place), max(0, place + len(surface))
        starts.append(character[begin])
        ends.append(character[end - 1] + 1 if end > begin else character[begin])
        place += len(surface)
    return tuple(starts), tuple(ends)
