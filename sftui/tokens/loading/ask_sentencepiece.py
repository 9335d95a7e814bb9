"""A SentencePiece .model file in a process of its own, under the Python that runs sftui.

The library is C++ that trusts the file: what it breaks, or never comes to an end with, is this process alone, which
takes `MEMORY` at most. Run as a script, it speaks as `autotokenizer` does:

    {"load": {"path"}}                                   `facts`
    {"encode": [text, …], "placed": bool}                {"rows": [[ids, offsets or null], …]}
    {"pieces": [id, …]}                                  {"pieces": [text or null, …]}
    {"ids": [piece, …]}                                  {"ids": [id or null, …]}

Offsets are in characters of the text; the bytes that make up one character share its span.
"""

from __future__ import annotations

import contextlib
from typing import Any

MEMORY = 2 << 30
"""Bytes; the largest vocabularies take a tenth."""


def load(path: str) -> Any:
    """The processor of a file."""
    from sentencepiece import SentencePieceProcessor

    processor = SentencePieceProcessor()
    processor.load(path)
    return processor


def facts(processor: Any) -> dict[str, Any]:
    """What the file says of its tokens; an id below 0 is one that it does not have."""
    size = processor.vocab_size()
    special = [i for i in range(size) if processor.is_control(i) or processor.is_unknown(i)]
    return {
        "vocab_size": size,
        "bos": processor.bos_id(),
        "eos": processor.eos_id(),
        "unk": processor.unk_id(),
        "special": [[i, processor.id_to_piece(i)] for i in special],
    }


def encode(processor: Any, texts: list[str], placed: bool) -> list[list[Any]]:
    """Each text as ids and offsets."""
    if not placed:
        return [[ids, None] for ids in processor.encode(texts, out_type=int, num_threads=1)]
    return [_placed(processor, text) for text in texts]


def _placed(processor: Any, text: str) -> list[Any]:
    if hasattr(processor, "encode_as_offset_mapping"):
        found = processor.encode(text, out_type="offset_mapping")
        ids, offsets = list(found["ids"]), [list(pair) for pair in found["offsets"]]
    else:  # sentencepiece 0.2.1 and before
        pieces = processor.encode(text, out_type="immutable_proto").pieces
        ids, offsets = [piece.id for piece in pieces], [[one.begin, one.end] for one in pieces]
    for at in range(len(ids) - 2, -1, -1):  # the bytes before the last one of a character come with no width
        start, end = offsets[at]
        if start == end == offsets[at + 1][0] and processor.is_byte(ids[at]) and processor.is_byte(ids[at + 1]):
            offsets[at][1] = offsets[at + 1][1]
    return [ids, offsets]


def answer(request: dict[str, Any], held: dict[str, Any]) -> dict[str, Any]:
    """The answer to one request; `held` keeps the processor between them."""
    if "load" in request:
        held["processor"] = load(request["load"]["path"])
        return facts(held["processor"])
    processor = held["processor"]
    if "encode" in request:
        return {"rows": encode(processor, request["encode"], request["placed"])}
    size = processor.vocab_size()
    if "pieces" in request:
        return {"pieces": [processor.id_to_piece(i) if 0 <= i < size else None for i in request["pieces"]]}
    found = [(piece, processor.piece_to_id(piece)) for piece in request["ids"]]
    return {"ids": [i if 0 <= i < size and processor.id_to_piece(i) == piece else None for piece, i in found]}


def _limit_memory() -> None:
    import resource

    with contextlib.suppress(OSError, ValueError):
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        most = MEMORY if hard == resource.RLIM_INFINITY else min(MEMORY, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (most, hard))


if __name__ == "__main__":
    from sftui.tokens.loading.autotokenizer import serve, stay_with_caller, without_neighbours

    without_neighbours()
    stay_with_caller()
    _limit_memory()
    serve(answer)
