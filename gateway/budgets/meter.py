"""What one request has used so far: filled in by whoever uses it, read when the request is settled."""

from dataclasses import dataclass

from policy.prices import Consumption


@dataclass(slots=True, kw_only=True)
class Meter:
    """Counts only grow. Those of several sequences, or of several attempts, add up."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    forced_tokens: int = 0
    """A part of `completion_tokens`."""
    cached_prompt_tokens: int = 0
    """A part of `prompt_tokens`."""
    retry_prompt_tokens: int = 0
    """The part of `prompt_tokens` that attempts after the first took."""
    retry_completion_tokens: int = 0
    compile_cpu_ms: float = 0.0

    @property
    def tokens(self) -> int:
        """What counts against a budget of tokens."""
        return self.prompt_tokens + self.completion_tokens

    @property
    def compile_cpu_us(self) -> int:
        """Whole microseconds of the compiler's CPU time."""
        return round(self.compile_cpu_ms * 1000)

    def consumption(self) -> Consumption:
        """What it comes to, for its price."""
        return Consumption(
            prompt_tokens=self.prompt_tokens,
            cached_prompt_tokens=self.cached_prompt_tokens,
            completion_tokens=self.completion_tokens,
            compile_cpu_us=self.compile_cpu_us,
            retry_prompt_tokens=self.retry_prompt_tokens,
            retry_completion_tokens=self.retry_completion_tokens,
        )
