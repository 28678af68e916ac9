"""What an analysis answers: frozen values, which know how they are ranked over models that fit the data equally well."""
