"""`python -m compiler_pool.tokenizers PATH [PATH]`: a tokenizer's identity, or what sets two of them apart.

For when the pool and a node disagree. Ends with status 1 where two differ, 2 where one cannot be used.
"""

import sys
from pathlib import Path

from compiler_pool.errors import TokenizerError
from compiler_pool.tokenizer import BoundTokenizer, load_tokenizer


def main(arguments: list[str]) -> int:
    """Print and answer the exit status."""
    if not 1 <= len(arguments) <= 2:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        tokenizers = [load_tokenizer(Path(argument)) for argument in arguments]
    except TokenizerError as error:
        print(error, file=sys.stderr)
        return 2
    for tokenizer in tokenizers:
        print(_summary(tokenizer))
    differences = tokenizers[0].identity.differences(tokenizers[-1].identity)
    for difference in differences:
        print(f"{difference.part}:\n  {difference.first}\n  {difference.second}")
    return 1 if differences else 0


def _summary(tokenizer: BoundTokenizer) -> str:
    missing = " ".join(f"{byte:02x}" for byte in sorted(tokenizer.missing_bytes)) or "none"
    return (
        f"{tokenizer.digest}  {tokenizer.name}\n"
        f"  ids {tokenizer.vocabulary_size}, special {len(tokenizer.special)}, ends {list(tokenizer.end_ids)}, "
        f"granted {dict(tokenizer.granted)}, bytes without a token: {missing}, "
        f"splits are {'faithful' if tokenizer.is_faithful else 'not faithful: nothing is forced'}"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
