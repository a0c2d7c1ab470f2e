"""Sources that several tests use."""

from inference_node.block_pool import BlockPool
from inference_node.decoder import Decoder
from inference_node.drafting.draft_model import DraftModel
from tests.inference_node.worlds import on_cpu


def drafting_by(decoder: Decoder) -> DraftModel:
    """As if its passes cost nothing."""
    return DraftModel(
        on_cpu(decoder),
        BlockPool(256),
        name="draft",
        context_tokens=512,
        max_rows=128,
        row_cost=0.0,
        pass_cost=0.01,
        device=decoder.device,
    )
