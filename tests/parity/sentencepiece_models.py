"""SentencePiece models for torchtune's tokenizers: trained from a seed, or put together again from a tokenizer.json.

`folder` writes tokenizer.model, beside a tokenizer.json with nothing of it in it (torchtune does not read that one; it
stands for what AutoTokenizer loads). The trained ones differ in what decides ids: the kind of model, byte
fallback, the dummy prefix, white space, the normalizer, and pieces that the user defined.
"""

from __future__ import annotations

import base64
import io
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import new_material

LLAMA = {
    "model_type": "bpe",
    "byte_fallback": True,
    "normalization_rule_name": "identity",
    "remove_extra_whitespaces": False,
    "allow_whitespace_only_pieces": True,
    "split_digits": True,
}
TURNS = ["<start_of_turn>", "<end_of_turn>", "\n\n", "▁▁", "[INST]"]
TRAINED: Mapping[str, Mapping[str, Any]] = {
    "llama": LLAMA,
    "gemma": {
        **LLAMA,
        "add_dummy_prefix": False,
        "user_defined_symbols": TURNS,
        **{"pad_id": 0, "eos_id": 1, "bos_id": 2, "unk_id": 3},
    },
    "suffix": {**LLAMA, "treat_whitespace_as_suffix": True},
    "folded": {"model_type": "bpe", "normalization_rule_name": "nmt_nfkc_cf", "control_symbols": ["<|im_end|>"]},
    "nfkc": {"model_type": "unigram", "normalization_rule_name": "nmt_nfkc", "pad_id": 3},
    "unigram_bytes": {
        "model_type": "unigram",
        "byte_fallback": True,
        "add_dummy_prefix": False,
        "remove_extra_whitespaces": False,
        "user_defined_symbols": ["\n", "<|user|>"],
    },
    "letters": {"model_type": "char", "normalization_rule_name": "nfkc", "vocab_size": 300},
    "no_bos": {**LLAMA, "bos_id": -1},
}
KEPT: Mapping[str, Mapping[str, Any]] = {
    "bpe": {**LLAMA, "vocab_size": 500},
    "turns": {**TRAINED["gemma"], "vocab_size": 500},
    "unigram": {"model_type": "unigram", "normalization_rule_name": "identity", "vocab_size": 240},
}
"""Small ones that stand beside the goldens (tests/golden/trainers/pieces): `goldens.py` writes those that are not
there, since another release of the package may train others."""
PHI3 = ("<|endoftext|>", "<|assistant|>", "<|system|>", "<|end|>", "<|user|>")


def model(name: str, shared: Path) -> bytes:
    """The file of a model."""
    if name == "phi3":
        return _of_bpe(shared / "testdata" / "tokenizers" / "phi-3-mini" / "tokenizer.json")
    if name == "t5":
        return _of_unigram(shared / "testdata" / "tokenizers" / "t5-small" / "tokenizer.json")
    import sentencepiece

    made = io.BytesIO()
    settings = {"vocab_size": 1200, **{**TRAINED, **KEPT}[name]}
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([line for text in new_material.corpus() for line in text.split("\n") if line]),
        model_writer=made,
        hard_vocab_limit=False,
        character_coverage=0.995,
        num_threads=1,
        minloglevel=2,
        **settings,
    )
    return made.getvalue()


def folder(model: bytes, path: Path, beside: Path) -> None:
    """The folder of a model; `beside` is the tokenizer whose files lie there too."""
    path.mkdir(parents=True)
    (path / "tokenizer.model").write_bytes(model)
    for file in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(beside / file, path / file)
        (path / file).chmod(0o644)
    own = path / "special.json"  # for special_tokens_path: Phi-3's under other numbers
    own.write_text(json.dumps({"added_tokens": [{"content": one, "id": 40_000 + i} for i, one in enumerate(PHI3)]}))


def _of_bpe(path: Path) -> bytes:
    """Llama 2's and Phi-3's model: its tokenizer.json lists the merges in the order of the pieces' scores."""
    from sentencepiece import sentencepiece_model_pb2

    proto = sentencepiece_model_pb2.ModelProto()
    whole = json.loads(path.read_text(encoding="utf-8"))["model"]
    pieces = sorted((i, piece) for piece, i in whole["vocab"].items() if i < 32000)
    scores: dict[str, int] = {}
    for rank, merge in enumerate(whole["merges"]):
        scores.setdefault("".join(merge if isinstance(merge, list) else merge.split(" ")), -rank)
    for i, piece in pieces:
        kind = proto.SentencePiece.NORMAL if i > 258 else proto.SentencePiece.BYTE
        kind = {0: proto.SentencePiece.UNKNOWN, 1: proto.SentencePiece.CONTROL, 2: proto.SentencePiece.CONTROL}.get(
            i, kind
        )
        proto.pieces.add(piece=piece, score=scores.get(piece, 0), type=kind)
    proto.trainer_spec.model_type = proto.trainer_spec.BPE
    proto.trainer_spec.byte_fallback = True
    proto.trainer_spec.vocab_size = len(pieces)
    proto.normalizer_spec.name = "identity"
    proto.normalizer_spec.remove_extra_whitespaces = False
    return bytes(proto.SerializeToString())


def _of_unigram(path: Path) -> bytes:
    """T5's model with a BOS behind it, and its character map."""
    from sentencepiece import sentencepiece_model_pb2

    proto = sentencepiece_model_pb2.ModelProto()
    whole = json.loads(path.read_text(encoding="utf-8"))
    kinds = {"<unk>": proto.SentencePiece.UNKNOWN, "</s>": proto.SentencePiece.CONTROL}
    kinds["<pad>"] = proto.SentencePiece.CONTROL
    pieces = [(piece, score) for piece, score in whole["model"]["vocab"] if not piece.startswith("<extra_id")]
    for piece, score in pieces:
        proto.pieces.add(piece=piece, score=score, type=kinds.get(piece, proto.SentencePiece.NORMAL))
    proto.pieces.add(piece="<s>", score=0, type=proto.SentencePiece.CONTROL)
    names = [piece for piece, _ in pieces]
    spec = proto.trainer_spec
    spec.model_type = spec.UNIGRAM
    spec.pad_id, spec.eos_id, spec.unk_id = (names.index(one) for one in ("<pad>", "</s>", "<unk>"))
    spec.bos_id, spec.vocab_size = len(pieces), len(pieces) + 1
    steps = whole["normalizer"].get("normalizers", [whole["normalizer"]])
    mapped = next(step for step in steps if step["type"] == "Precompiled")
    proto.normalizer_spec.name = "nmt_nfkc"
    proto.normalizer_spec.precompiled_charsmap = base64.b64decode(mapped["precompiled_charsmap"])
    return bytes(proto.SerializeToString())
