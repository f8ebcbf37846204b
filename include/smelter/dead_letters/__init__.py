"""How does slag come back? Letters are looked at, planned, replayed, edited, discarded, and all of it can be undone."""
