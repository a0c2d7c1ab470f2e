"""Why an adapter is not taken.

AdapterError                        what follows is refused before anything is kept of it
├── AdapterFileError                no whole adapter: cut short, without its configuration, not finite
├── UnsupportedAdapterError         its configuration changes the function in a way that is not implemented
├── AdapterMismatchError            it was made for another base, or does not fit this one
├── AdapterDigestError              filed under another digest than its own
├── AdapterMissingError             the node does not have it
├── AdapterInUseError               a sequence that runs needs it
└── AdaptersFullError               every slot is needed by a sequence that runs
"""


class AdapterError(Exception):
    """Root of the tree."""


class AdapterFileError(AdapterError):
    """It is no whole adapter; `reason` says what is wrong with it."""

    def __init__(self, *, reason: str) -> None:
        self.reason = reason
        super().__init__(f"not a usable adapter: {reason}")


class UnsupportedAdapterError(AdapterError):
    """`setting` names what is not implemented, `value` is what it said."""

    def __init__(self, *, setting: str, value: object, supported: str) -> None:
        self.setting = setting
        self.value = value
        self.supported = supported
        super().__init__(f"unsupported adapter: {setting} is {value!r:.100}; supported: {supported}")


class AdapterMismatchError(AdapterError):
    """`what` differs from the base model's."""

    def __init__(self, *, what: str, expected: object, observed: object) -> None:
        self.what = what
        self.expected = expected
        self.observed = observed
        super().__init__(f"the adapter does not fit this model: {what} is {observed}, expected {expected}")


class AdapterDigestError(AdapterError):
    """Its content has another digest than the name it came under."""

    def __init__(self, *, expected: str, observed: str) -> None:
        self.expected = expected
        self.observed = observed
        super().__init__(f"the adapter's digest is {observed}, it was sent as {expected:.100}")


class AdapterMissingError(AdapterError):
    """It was never put here, or made room for others since."""

    def __init__(self, *, digest: str) -> None:
        self.digest = digest
        super().__init__("this node does not have the adapter; put it first")


class AdapterInUseError(AdapterError):
    """It cannot go while `num_sequences` run under it."""

    def __init__(self, *, digest: str, num_sequences: int) -> None:
        self.digest = digest
        self.num_sequences = num_sequences
        super().__init__(f"{num_sequences} sequences run under the adapter")


class AdaptersFullError(AdapterError):
    """Nothing can make room: all `max_adapters` are in use."""

    def __init__(self, *, max_adapters: int) -> None:
        self.max_adapters = max_adapters
        super().__init__(f"all {max_adapters} adapters are in use")
