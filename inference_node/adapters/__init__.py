"""Low-rank adapters (LoRA) of the one model that a node has, chosen by each sequence for itself."""
