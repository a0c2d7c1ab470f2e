"""What may be said besides an answer (calls, a refusal, thought), made one contract, and read back."""
