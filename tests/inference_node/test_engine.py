import pytest
import torch

from inference_node.engine import choose_device, choose_dtype
from inference_node.errors import UnsupportedModelError

CPU = torch.device("cpu")


def test_a_dtype_that_is_asked_for_is_taken_and_auto_is_one_of_the_two() -> None:
    assert choose_dtype("float32", CPU) is torch.float32
    assert choose_dtype("bfloat16", CPU) is torch.bfloat16
    assert choose_dtype("auto", CPU) in {torch.bfloat16, torch.float32}


@pytest.mark.skipif(torch.cuda.is_available(), reason="says what happens without a GPU")
def test_a_gpu_that_is_not_there_is_refused_and_auto_falls_to_the_cpu() -> None:
    assert choose_device("auto") == CPU
    with pytest.raises(UnsupportedModelError, match="torch sees no GPU"):
        choose_device("cuda")
