"""Writes Megatron's files of ids for tests/unit/sources: run with a python that has torch and megatron-core (0.16.1).

python -m pip install --target CORE --no-deps megatron-core
PYTHONPATH=CORE ~/.cache/sftui-parity/trl-1.16.0/bin/python tests/parity/record_megatron_files.py
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from megatron.core.datasets.indexed_dataset import IndexedDatasetBuilder

FOLDER = Path(__file__).resolve().parents[1] / "golden" / "sources"
DOCUMENTS = [[[5, 6, 7], [8]], [[9, 32000, 11, 12]], [[13, 14], [15], [16, 17, 18]]]
"""The sequences of each document, as preprocess_data.py --split-sentences makes them."""
FILES = {
    "uint16": (np.uint16, False),
    "int32": (np.int32, False),
    "int64": (np.int64, False),
    "modes": (np.int32, True),
}

if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, (dtype, modes) in FILES.items():
        stem = FOLDER / f"megatron_{name}"
        made = IndexedDatasetBuilder(f"{stem}.bin", dtype=dtype, multimodal=modes)
        for document in DOCUMENTS:
            ids = torch.tensor([one for sequence in document for one in sequence])
            lengths = [len(sequence) for sequence in document]
            made.add_document(ids, lengths, [0] * len(lengths) if modes else None)
        made.finalize(f"{stem}.idx")
    print(f"megatron-core {version('megatron-core')}: {len(FILES)} files")
