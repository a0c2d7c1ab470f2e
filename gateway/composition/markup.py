"""What stands around a refusal and a thought in a model's text.

`<think>` is what reasoning models (Qwen, DeepSeek) were trained on. No model was trained on a marker of refusals; this
one is a word, so that a model can mean it. Calls are in `inference_node.tool_dialects`: prompts show them too.
"""

from typing import Final

THOUGHT_BEGIN: Final = "<think>"
THOUGHT_END: Final = "</think>"
REFUSAL_BEGIN: Final = "<refusal>"
REFUSAL_END: Final = "</refusal>"
