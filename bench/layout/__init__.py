"""Benchmark of derived datatypes: the communication patterns of the field on several MPI libraries."""
