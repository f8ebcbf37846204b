"""Is every record accounted for? Files are counted a second time, by code that the judge does not use."""
