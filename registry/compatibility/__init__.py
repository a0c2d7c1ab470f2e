"""What a change of a contract allows or forbids: proved, shown by a document, or said to be unknown."""
