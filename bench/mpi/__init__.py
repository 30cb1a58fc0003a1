"""The measuring house of MPI: one C program on many libraries."""
