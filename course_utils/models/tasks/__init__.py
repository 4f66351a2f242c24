"""Tasks that the chapters train models on: the task, the training, the judgement."""
