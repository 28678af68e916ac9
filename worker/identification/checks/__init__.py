"""Tests of the fitted model, and the sentences that report them."""
