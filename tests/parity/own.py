"""What the cases share whose references are kept in the repository: our own rows, tokenizers and templates.

The cases are `OWN` in `own.py` of each trainer's folder. The ordinary tests check them without the trainers;
`goldens.py` records them.
"""

from __future__ import annotations

CHATML, LLAMA3, GEMMA = "own:chatml", "own:llama3", "own:gemma"
TRICKY = "tricky.one_of_three"
TAGGED = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' }}{% if m.role == 'assistant' %}{% generation %}{{"
    " m.content + '<|im_end|>' }}{% endgeneration %}{% else %}{{ m.content + '<|im_end|>' }}{% endif %}{{ '\\n' }}{%"
    " endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
