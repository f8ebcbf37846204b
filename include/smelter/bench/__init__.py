"""How fast is it, beside the alternatives, in one run on one machine?"""
