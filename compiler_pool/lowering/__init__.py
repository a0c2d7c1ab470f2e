"""From a canonical contract to the engine's grammar: exactly, or not at all."""
