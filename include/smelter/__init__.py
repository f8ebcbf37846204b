"""Smelter: ore comes in; bronze, silver and gold come out; slag is kept, labelled and smelted again."""

__version__ = "0.1.0"
