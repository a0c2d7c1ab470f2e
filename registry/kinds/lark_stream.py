"""Walking over the tokens of a Lark text; refusals say where."""

from typing import NoReturn

from policy.rejection import RejectionCode
from registry.kinds.faults import place, refuse, shown
from registry.kinds.lark_tokens import LarkToken, lark_tokens


class LarkStream:
    """The tokens of one text and a place among them."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._tokens = lark_tokens(text)
        self._at = 0

    @property
    def last(self) -> LarkToken:
        """The token that was taken last."""
        return self._tokens[self._at - 1]

    def peek(self) -> LarkToken:
        """The next token, which stays."""
        return self._tokens[self._at]

    def peek_second(self) -> LarkToken:
        """The token after the next."""
        return self._tokens[min(self._at + 1, len(self._tokens) - 1)]

    def peek_after_newlines(self) -> LarkToken:
        """The next token that is no line feed."""
        at = self._at
        while self._tokens[at].kind == "newline":
            at += 1
        return self._tokens[at]

    def next(self) -> LarkToken:
        """Take the next token; the end stays."""
        token = self._tokens[self._at]
        self._at = min(self._at + 1, len(self._tokens) - 1)
        return token

    def skip_newlines(self) -> None:
        """Take line feeds."""
        while self.peek().kind == "newline":
            self._at += 1

    def is_sign(self, sign: str) -> bool:
        """Whether the next token is this sign."""
        token = self.peek()
        return token.kind == "sign" and token.text == sign

    def take_sign(self, sign: str) -> bool:
        """Whether the next token was this sign, which is then taken."""
        if self.is_sign(sign):
            self._at += 1
            return True
        return False

    def expect_sign(self, sign: str) -> None:
        """Take this sign, or refuse."""
        if not self.take_sign(sign):
            self.fail(f"`{sign}` is missing")

    def take_directive(self, name: str) -> bool:
        """Whether the next token was this directive, which is then taken."""
        token = self.peek()
        if token.kind == "directive" and token.text == name:
            self._at += 1
            return True
        return False

    def take_number(self, most: int) -> int | None:
        """The next token, if it is a whole number without sign; refused above `most`."""
        token = self.peek()
        digits = token.text[2:] if token.kind == "hexadecimal" else token.text
        if token.kind not in {"number", "hexadecimal"} or not digits.isalnum():
            return None
        # No number that is allowed has more digits than these, and `int` need not read a megabyte of them.
        if len(digits.lstrip("0")) > 20:
            self.fail(f"The number is above {most}")
        value = int(digits, 16 if token.kind == "hexadecimal" else 10)
        if value > most:
            self.fail(f"The number is above {most}")
        self._at += 1
        return value

    def expect_word(self) -> str:
        """Take a plain lower-case name, or refuse."""
        token = self.peek()
        if token.kind != "rule":
            self.fail("A lower-case name is missing")
        self._at += 1
        return token.text

    def next_name(self) -> LarkToken:
        """Take the name of a rule or terminal, or refuse."""
        if self.peek().kind not in {"rule", "terminal"}:
            self.fail("A name is missing")
        return self.next()

    def expect_name(self) -> str:
        """The text of the name that is taken."""
        return self.next_name().text

    def place(self, at: int) -> str:
        """Where a character is, for people."""
        return place(self.text, at)

    def fail(self, message: str) -> NoReturn:
        """Refuse the text at the next token."""
        token = self.peek()
        what = {"end": "the end of the text", "newline": "the end of the line"}.get(token.kind, shown(token.text))
        refuse(RejectionCode.INVALID_GRAMMAR, f"{message} (at {self.place(token.at)}, before {what}).")
