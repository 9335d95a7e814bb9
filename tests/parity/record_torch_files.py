"""Writes files of torch.save for tests/unit/sources: run with the python of an environment that has torch.

~/.cache/sftui-parity/trl-1.16.0/bin/python tests/parity/record_torch_files.py
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

FOLDER = Path(__file__).resolve().parents[1] / "golden" / "sources"
IDS = torch.arange(24).reshape(4, 6)


class Odd:
    """What no tensor is."""


FILES: dict[str, Any] = {
    "tensor": IDS,
    "batch": {
        "input_ids": IDS,
        "labels": IDS.to(torch.int32).T.contiguous().T,
        "loss_mask": IDS % 3 > 0,
        "weights": (IDS / 8).to(torch.bfloat16),
        "step": 7,
    },
    "views": {"input_ids": IDS[:, 1:], "labels": IDS[:, :-1]},
    "examples": [{"input_ids": torch.arange(n), "labels": torch.arange(n) - 1} for n in (3, 5, 2)],
    "batches": [{"input_ids": IDS[:2]}, {"input_ids": IDS[2:, :4]}],
    "texts": [torch.arange(4), torch.arange(7)],
    "expanded": torch.zeros(1, 1, dtype=torch.long).expand(4, 6),
    "parameter": {"weight": torch.nn.Parameter(torch.zeros(2, 2))},
    "object": {"input_ids": IDS, "other": Odd()},
}

if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, value in FILES.items():
        torch.save(value, FOLDER / f"{name}.pt")
    print(f"torch {torch.__version__}: {len(FILES)} files")
