"""Families of open models, each as the parts that its config.json asks for."""
