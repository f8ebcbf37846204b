"""What are the answers? SQL models over silver, each a gold table of which only changed windows are computed anew."""
