import pytest

from inference_node.reasoning.dialects import DIALECTS, NoFraming, ReasoningDialect, UnreadableFraming, framing_of
from inference_node.reasoning.markers import is_open_after, markers_of

QWEN = (
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}"
    "{%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}"
    "{%- endif %}"
)
TEMPLATES = {
    "think": QWEN,
    "mistral": "{{ '[THINK]' + block['thinking'] + '[/THINK]' }}",
    "kimi": "{{ content.split('\u25c1/think\u25b7')[-1] }}",
    "cohere": "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|><|START_THINKING|>",
    "seed": "{{ '<seed:think>' + content + '</seed:think>' }}",
    "gemma": "{{- '<|channel>thought\\n<channel|>' -}}",
    "granite": "Write your thoughts after 'Here is my thought process:' and your answer after 'Here is my response:'",
}


@pytest.mark.parametrize("name", [dialect.name for dialect in DIALECTS])
def test_every_dialect_is_recognised_by_a_template_that_speaks_it(name: str) -> None:
    framing = framing_of(TEMPLATES[name])
    assert isinstance(framing, ReasoningDialect)
    assert framing.name == name


@pytest.mark.parametrize(
    ("template", "name"),
    [
        ("<|start|>assistant<|channel|>analysis<|message|>", "harmony"),
        ("<think>\n{{ thought }}</think>\n<answer>\n", "think_answer"),
        ("<think>{{ thought }}</think><response></response>", "think_response"),
    ],
)
def test_a_framing_that_puts_the_answer_elsewhere_is_known_by_name_and_not_read(template: str, name: str) -> None:
    framing = framing_of(template)
    assert isinstance(framing, UnreadableFraming)
    assert (framing.name, bool(framing.why)) == (name, True)


def test_a_template_without_thought_has_none() -> None:
    assert framing_of("{{ messages[0].content }}") == NoFraming()


@pytest.mark.parametrize(
    ("tail", "is_open"),
    [
        ("<|im_start|>assistant\n<think>\n", True),
        ("<|im_start|>assistant\n<think>\n\n</think>\n\n", False),
        ("<|im_start|>assistant\n", False),
        ("<|Assistant|></think>", False),
    ],
)
def test_whether_a_prompt_ends_within_a_thought_is_read_from_its_tail(tail: str, *, is_open: bool) -> None:
    framing = framing_of(QWEN)
    assert isinstance(framing, ReasoningDialect)
    assert is_open_after(tail, framing) is is_open


def test_line_feeds_about_markers_are_the_templates_own() -> None:
    def written(template: str) -> tuple[str, str]:
        framing = framing_of(template)
        assert isinstance(framing, ReasoningDialect)
        markers = markers_of(framing, template, lambda text: [ord(character) for character in text], {})
        return "".join(map(chr, markers.opening_ids)), "".join(map(chr, markers.lead_in_ids))

    assert written(QWEN) == ("<think>\n", "\n\n")
    assert written("{{ '<think>' + thought + '</think>' + content }}") == ("<think>", "")
    assert written(TEMPLATES["cohere"]) == ("<|START_THINKING|>", "<|START_RESPONSE|>")
