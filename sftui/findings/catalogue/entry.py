"""How an entry of the catalogue is written down."""

from __future__ import annotations

from sftui.findings.model import GRADES, Code


def entry(
    code: str,
    name: str,
    grade: str,
    scope: str,
    title: str,
    explanation: str,
    *,
    trl: str = "",
    axolotl: str = "",
    llamafactory: str = "",
    unsloth: str = "",
    torchtune: str = "",
    hf: str = "",
    data: str = "",
    spared: tuple[str, ...] = (),
) -> Code:
    """One code; `data` is what to do to the data, which holds for every trainer that has no key of its own.

    `spared` are trainers that it does not concern, so that there is nothing to do.
    """
    fixes = {
        "trl": trl,
        "axolotl": axolotl,
        "llamafactory": llamafactory,
        "unsloth": unsloth,
        "torchtune": torchtune,
        "hf-trainer": hf,
    }
    return Code(
        code,
        name,
        GRADES[grade],
        scope,
        title,
        explanation,
        {key: text or data for key, text in fixes.items() if (text or data) and key not in spared},
    )
