"""A byte-level tokenizer small enough to make in a test: 256 bytes, some merges, one end token."""

import json
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

_TEXT = '{"name":"value","items":[1,2.5,true,false,null],"id":"a-b"} the and type string number object array'


def write_small_tokenizer(directory: Path) -> Path:
    """A `tokenizer.json` in the directory."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=320,
        special_tokens=["<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([_TEXT] * 10, trainer)
    path = directory / "tokenizer.json"
    path.write_text(json.dumps(json.loads(tokenizer.to_str())), encoding="utf-8")
    return path
