"""verl's supervised fine-tuning (`python -m verl.trainer.sft_trainer`): MultiTurnSFTDataset under Hydra."""

from sftui.trainers.traits import Finds, Traits
from sftui.trainers.verl.own_keys import claimed

TRAITS = Traits(
    name="verl",
    title="verl",
    about="verl's SFT (verl.trainer.sft_trainer), as its Hydra config or run script says",
    home="sftui.trainers.verl.trainer:Verl",
    versions=("0.9",),
    first=(0, 9),
    stored_as_parquet=True,
    tools_in_each_row=True,
    ends_chats=False,
    piecewise=True,
    finds=Finds.MESSAGES,
    empty_stop="ZeroDivisionError: integer division or modulo by zero (no batch of data.train_batch_size is full)",
    reads="sftui.trainers.verl.config",
    writes="sftui.trainers.verl.config",
    script="verl.trainer.sft_trainer",
    claims=claimed,
)
