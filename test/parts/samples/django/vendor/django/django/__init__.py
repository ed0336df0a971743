"""Stands in for Django: the part of its interface that the sample uses."""
