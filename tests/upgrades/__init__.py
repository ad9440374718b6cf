"""Databases that earlier releases made, and the script that makes them."""
