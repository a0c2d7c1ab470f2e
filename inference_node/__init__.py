"""The masked decoding loop: model, scheduler, sampler and grammar state behind one HTTP protocol."""
