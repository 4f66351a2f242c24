"""GPT-2, Llama and its descendants: their parts, their settings, their weights."""
