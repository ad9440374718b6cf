"""The sums that charts are drawn from."""
