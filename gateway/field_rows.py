"""Fields that other servers add to OpenAI's APIs, and what becomes of each here; chat and Responses share them.

Three fates: no effect, with the reason; refused unless neutral, because it would change the output; a constraint that
is spelled in no way that is read.
"""

from collections.abc import Mapping

from gateway.fields import Unsupported

_SAMPLING = "only `temperature`, `top_p` and `seed` decide how tokens are picked here"
_END = "an answer ends where its contract does, at an end token, at `stop`, or at its limit of tokens"
_TEXT = "answers are the text itself"
_PROMPT = "the model's own chat template makes the prompt"
_DETAILS = "this is not returned"

EXTRA_ACCEPTED: Mapping[str, str] = {
    "cache_salt": "it is not handed on; what was computed of a prompt is found again by its tenant alone",
    "priority": "requests are begun in the order in which they come",
    "request_id": "the gateway names requests itself, in `x-request-id`",
    "rid": "the gateway names requests itself, in `x-request-id`",
    "session_id": "nothing is kept between requests",
    "id_slot": "nothing is kept between requests",
    "cache_prompt": "it is not handed on; what was computed of a prompt may be found again by its tenant",
    "n_keep": "a prompt is never cut",
    "n_discard": "a prompt is never cut",
    "custom_labels": "metrics have closed sets of labels",
    "routed_dp_rank": "the gateway picks the node",
    "data_parallel_rank": "the gateway picks the node",
    "stream_reasoning": "a span of thought is streamed where the answer is",
}
"""Cannot change what a correct answer is."""

SAMPLING_UNSUPPORTED: Mapping[str, Unsupported] = {
    "top_k": Unsupported(neutral=(-1, 0), instead=_SAMPLING),
    "min_p": Unsupported(neutral=(0,), instead=_SAMPLING),
    "top_a": Unsupported(neutral=(0,), instead=_SAMPLING),
    "typical_p": Unsupported(neutral=(1,), instead=_SAMPLING),
    "tfs_z": Unsupported(neutral=(1,), instead=_SAMPLING),
    "top_n_sigma": Unsupported(neutral=(-1,), instead=_SAMPLING),
    "xtc_probability": Unsupported(neutral=(0,), instead=_SAMPLING),
    "xtc_threshold": Unsupported(instead=_SAMPLING),
    "dry_multiplier": Unsupported(neutral=(0,), instead=_SAMPLING),
    "mirostat": Unsupported(neutral=(0,), instead=_SAMPLING),
    "dynatemp_range": Unsupported(neutral=(0,), instead=_SAMPLING),
    "samplers": Unsupported(instead=_SAMPLING),
    "repetition_penalty": Unsupported(neutral=(1,), instead="penalties are not served"),
    "repeat_penalty": Unsupported(neutral=(1,), instead="penalties are not served"),
    "repetition_detection": Unsupported(instead="penalties are not served"),
    "length_penalty": Unsupported(neutral=(1,), instead="beams are not served"),
    "use_beam_search": Unsupported(neutral=(False,), instead="beams are not served"),
    "best_of": Unsupported(neutral=(1,), instead="answers are not compared"),
    "do_sample": Unsupported(neutral=(True,), instead="for greedy decoding send `temperature: 0`"),
    "watermark": Unsupported(neutral=(False,), instead="watermarks are not served"),
    "custom_logit_processor": Unsupported(instead=_SAMPLING),
    "logits_processors": Unsupported(neutral=([],), instead=_SAMPLING),
    "allowed_token_ids": Unsupported(instead="constrain the output with a contract"),
    "bad_words": Unsupported(neutral=([],), instead="constrain the output with a contract"),
    "bad_words_token_ids": Unsupported(neutral=([],), instead="constrain the output with a contract"),
    "ignore_eos": Unsupported(neutral=(False,), instead=_END),
    "min_tokens": Unsupported(neutral=(0,), instead=_END),
    "min_new_tokens": Unsupported(neutral=(0,), instead=_END),
    "stop_token_ids": Unsupported(neutral=([],), instead=_END),
    "stop_regex": Unsupported(neutral=([],), instead=_END),
    "include_stop_str_in_output": Unsupported(neutral=(False,), instead="a stop string never stands in the answer"),
    "no_stop_trim": Unsupported(neutral=(False,), instead="a stop string never stands in the answer"),
    "max_new_tokens": Unsupported(instead="send `max_completion_tokens`"),
    "n_predict": Unsupported(neutral=(-1,), instead="send `max_completion_tokens`"),
}
"""Would change which tokens are picked, or where the answer ends."""

EXTRA_UNSUPPORTED: Mapping[str, Unsupported] = {
    **SAMPLING_UNSUPPORTED,
    "skip_special_tokens": Unsupported(neutral=(True,), instead=_TEXT),
    "spaces_between_special_tokens": Unsupported(neutral=(True,), instead=_TEXT),
    "return_token_ids": Unsupported(neutral=(False,), instead=_DETAILS),
    "return_tokens_as_token_ids": Unsupported(neutral=(False,), instead=_DETAILS),
    "return_hidden_states": Unsupported(neutral=(False,), instead=_DETAILS),
    "return_prompt": Unsupported(neutral=(False,), instead=_DETAILS),
    "return_full_text": Unsupported(neutral=(False,), instead=_TEXT),
    "return_progress": Unsupported(neutral=(False,), instead=_DETAILS),
    "timings_per_token": Unsupported(neutral=(False,), instead=_DETAILS),
    "prompt_logprobs": Unsupported(neutral=(0,), instead=_DETAILS),
    "top_n_tokens": Unsupported(neutral=(0,), instead="send `top_logprobs`"),
    "details": Unsupported(neutral=(False,), instead=_DETAILS),
    "decoder_input_details": Unsupported(neutral=(False,), instead=_DETAILS),
    "echo": Unsupported(neutral=(False,), instead=_TEXT),
    "add_generation_prompt": Unsupported(neutral=(True,), instead=_PROMPT),
    "continue_final_message": Unsupported(neutral=(False,), instead=_PROMPT),
    "add_special_tokens": Unsupported(neutral=(False,), instead=_PROMPT),
    "chat_template": Unsupported(instead=_PROMPT),
    "chat_template_kwargs": Unsupported(neutral=({},), instead=_PROMPT),
    "documents": Unsupported(neutral=([],), instead=_PROMPT),
    "truncate": Unsupported(instead="a prompt is never cut"),
    "truncate_prompt_tokens": Unsupported(instead="a prompt is never cut"),
    "mm_processor_kwargs": Unsupported(neutral=({},), instead="prompts are text"),
    "include_reasoning": Unsupported(neutral=(True,), instead="a span of thought is never hidden"),
    "separate_reasoning": Unsupported(neutral=(True,), instead="a span of thought is never part of the answer"),
    "thinking_token_budget": Unsupported(instead='send `reasoning: {"effort": …}`'),
    "vllm_xargs": Unsupported(neutral=({},), instead="nothing is handed on to an engine unread"),
    "custom_params": Unsupported(neutral=({},), instead="nothing is handed on to an engine unread"),
    "kv_transfer_params": Unsupported(instead="nothing is handed on to an engine unread"),
    "lora_path": Unsupported(instead="ask for a model by its name"),
    "lora": Unsupported(neutral=([],), instead="ask for a model by its name"),
    "adapter_id": Unsupported(instead="ask for a model by its name"),
}
"""Would change the answer, and is not served."""
