"""How models spell calls of tools: one spelling for the prompt, the grammar, and whoever reads calls back."""
