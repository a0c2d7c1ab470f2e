"""Chat Completions: what its requests say, and its answers whole and as a stream."""
