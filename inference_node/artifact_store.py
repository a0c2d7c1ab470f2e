"""The artifacts that this node can decode under, least recently used first to go."""

from collections import OrderedDict
from dataclasses import dataclass
from importlib.metadata import version
from threading import Lock
from typing import Final

from compiler_pool.artifact import Artifact, ArtifactKey
from compiler_pool.errors import FrameError
from compiler_pool.frame import KeyRing, open_frame
from compiler_pool.tokenizer import BoundTokenizer
from inference_node.errors import GrammarError, RefusedRequestError
from inference_node.grammar import GrammarMatcher, Prototype
from inference_node.metrics import NodeMetrics
from inference_node.protocol import NodeFault

_ENGINE_VERSION: Final = version("llguidance")


@dataclass(slots=True, kw_only=True)
class _Entry:
    artifact: Artifact
    prototype: Prototype


class ArtifactStore:
    """Safe from any thread. Compiling takes milliseconds to hundreds of them: not for an event loop.

    A key names its tenant's partition, so a prototype is never shared between tenants whose contract is their own.
    """

    def __init__(self, tokenizer: BoundTokenizer, ring: KeyRing, *, max_artifacts: int, metrics: NodeMetrics) -> None:
        self._tokenizer = tokenizer
        self._ring = ring
        self._max_artifacts = max_artifacts
        self._metrics = metrics
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._lock = Lock()

    def put(self, key: str, frame: bytes) -> bool:
        """Take an artifact's frame; whether it was there already.

        Raises:
            RefusedRequestError: forged, filed under another key, for another tokenizer or engine, or its grammar
                does not compile here.
        """
        artifact = self._opened(key, frame)
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
                return True
        self._keep(key, _Entry(artifact=artifact, prototype=self._compiled(artifact)))
        return False

    def matcher(self, key: str) -> GrammarMatcher:
        """A matcher at the start of an artifact's grammar, from a fresh prototype where the old one is worn.

        Raises:
            RefusedRequestError: `artifact_required`, or its grammar no longer compiles.
        """
        with self._lock:
            entry = self._entries.get(key)
            if entry is not None:
                self._entries.move_to_end(key)
                if not entry.prototype.is_worn:
                    return entry.prototype.matcher()
        if entry is None:
            raise RefusedRequestError(
                NodeFault(code="artifact_required", message="this node does not have the artifact; put it first")
            )
        fresh = _Entry(artifact=entry.artifact, prototype=self._compiled(entry.artifact))
        self._keep(key, fresh)
        with self._lock:
            return fresh.prototype.matcher()

    def _opened(self, key: str, frame: bytes) -> Artifact:
        try:
            artifact = open_frame(frame, self._ring)
        except FrameError as error:
            raise RefusedRequestError(NodeFault(code="invalid_frame", message=str(error))) from error
        if artifact.key != ArtifactKey(key):
            raise RefusedRequestError(
                NodeFault(code="artifact_key_mismatch", message="the artifact's own key is not the one in the path")
            )
        if artifact.address.tokenizer_digest != self._tokenizer.digest:
            raise RefusedRequestError(
                NodeFault(
                    code="tokenizer_mismatch",
                    message=f"compiled for {artifact.address.tokenizer_digest}, this node has {self._tokenizer.digest}",
                )
            )
        if artifact.address.engine_version != _ENGINE_VERSION:
            # Accepted by the trial of another engine than the one that would run it.
            raise RefusedRequestError(
                NodeFault(
                    code="artifact_failed",
                    message=f"compiled for engine {artifact.address.engine_version}, this node has {_ENGINE_VERSION}",
                )
            )
        return artifact

    def _compiled(self, artifact: Artifact) -> Prototype:
        try:
            return Prototype.build(self._tokenizer, artifact.grammar, artifact.engine_budget)
        except GrammarError as error:
            raise RefusedRequestError(
                NodeFault(code="artifact_failed", message="the grammar engine of this node refuses the artifact")
            ) from error

    def _keep(self, key: str, entry: _Entry) -> None:
        with self._lock:
            self._entries[key] = entry
            self._entries.move_to_end(key)
            while len(self._entries) > self._max_artifacts:
                self._entries.popitem(last=False)
            self._metrics.set_artifacts(len(self._entries))
