"""The artifacts that this node can decode under, least recently used first to go."""

from collections import OrderedDict
from importlib.metadata import version
from threading import Lock
from typing import Final

from compiler_pool.artifact import Artifact, ArtifactKey
from compiler_pool.errors import FrameError
from compiler_pool.frame import KeyRing, open_frame
from compiler_pool.tokenizer import BoundTokenizer
from inference_node.errors import GrammarError, RefusedRequestError
from inference_node.matcher import GrammarMatcher
from inference_node.metrics import NodeMetrics
from inference_node.protocol import NodeFault
from inference_node.prototype_shelf import PrototypeShelf

_ENGINE_VERSION: Final = version("llguidance")


class ArtifactStore:
    """Safe from any thread. Compiling takes milliseconds to hundreds of them: not for an event loop.

    A key names its tenant's partition, so a prototype is never shared between tenants whose contract is their own.
    """

    def __init__(
        self,
        tokenizer: BoundTokenizer,
        ring: KeyRing,
        *,
        max_artifacts: int,
        max_prototypes: int,
        prototypes_per_artifact: int,
        metrics: NodeMetrics,
    ) -> None:
        self._tokenizer = tokenizer
        self._ring = ring
        self._max_artifacts = max_artifacts
        self._max_prototypes = max_prototypes
        self._prototypes_per_artifact = prototypes_per_artifact
        self._metrics = metrics
        self._shelves: OrderedDict[str, PrototypeShelf] = OrderedDict()
        self._lock = Lock()

    def put(self, key: str, frame: bytes) -> bool:
        """Take an artifact's frame; whether it was there already.

        Raises:
            RefusedRequestError: forged, filed under another key, for another tokenizer or engine, or its grammar
                does not compile here.
        """
        artifact = self._opened(key, frame)
        with self._lock:
            if key in self._shelves:
                self._shelves.move_to_end(key)
                return True
        shelf = PrototypeShelf(
            self._tokenizer,
            artifact.grammar,
            artifact.engine_budget,
            capacity=self._prototypes_per_artifact,
            metrics=self._metrics,
        )
        try:
            shelf.stock()
        except GrammarError as error:
            raise _refused() from error
        with self._lock:
            self._shelves[key] = shelf
            self._shelves.move_to_end(key)
        self._trim()
        return False

    def matcher(self, key: str) -> GrammarMatcher:
        """A matcher at the start of an artifact's grammar.

        Raises:
            RefusedRequestError: `artifact_required`, or its grammar no longer compiles.
        """
        with self._lock:
            shelf = self._shelves.get(key)
            if shelf is not None:
                self._shelves.move_to_end(key)
        if shelf is None:
            raise RefusedRequestError(
                NodeFault(code="artifact_required", message="this node does not have the artifact; put it first")
            )
        try:
            matcher = shelf.matcher()
        except GrammarError as error:
            raise _refused() from error
        self._trim()
        return matcher

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

    def _trim(self) -> None:
        """Keep within both limits: first what is oldest loses its spare prototypes, then the oldest go altogether."""
        with self._lock:
            num_prototypes = sum(shelf.num_prototypes for shelf in self._shelves.values())
            for shelf in self._shelves.values():
                if num_prototypes <= self._max_prototypes:
                    break
                num_prototypes -= shelf.drop_spares()
            while len(self._shelves) > 1 and (
                len(self._shelves) > self._max_artifacts or num_prototypes > self._max_prototypes
            ):
                num_prototypes -= self._shelves.popitem(last=False)[1].num_prototypes
            self._metrics.set_artifacts(len(self._shelves))


def _refused() -> RefusedRequestError:
    return RefusedRequestError(
        NodeFault(code="artifact_failed", message="the grammar engine of this node refuses the artifact")
    )
