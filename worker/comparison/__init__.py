"""The identified model beside the data that it came from: conditional moments, autocorrelation, stationary density."""
