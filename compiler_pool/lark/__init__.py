"""The intermediate form written as Lark text that a stock llguidance takes."""
