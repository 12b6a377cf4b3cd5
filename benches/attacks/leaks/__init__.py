"""Parts of the family `secrets`: the servers that it crawls, and the search for secrets in files of all kinds."""
