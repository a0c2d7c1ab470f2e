"""Every contract kind but JSON Schema, lowered to Lark text that a stock llguidance takes."""
