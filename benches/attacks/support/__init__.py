"""Servers and canaries shared by several families."""
