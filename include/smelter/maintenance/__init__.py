"""What needs care, and what must not be touched? Survey, plan by need, act; and rows that leave for good."""
