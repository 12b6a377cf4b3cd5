"""Servers and canaries that several families of attacks share."""
