"""Parts of the family `exhaustion`."""
