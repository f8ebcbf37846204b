"""How does a micro-batch become two commits, once?"""
