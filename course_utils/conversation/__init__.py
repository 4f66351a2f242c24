"""Talking to the released model, which runs on the learner's functions where they are passed."""
