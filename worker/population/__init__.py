"""Records of a population: means, differences between records, and records that stand apart."""
