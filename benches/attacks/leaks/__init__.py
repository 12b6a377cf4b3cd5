"""Parts of the family `secrets`: its servers, and the search for secrets in files of all kinds."""
