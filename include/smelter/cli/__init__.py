"""The menu. Parses, calls one function, prints."""
