"""Is it fit to publish? One aggregation pass over the rows, then Great Expectations judges what it found."""
