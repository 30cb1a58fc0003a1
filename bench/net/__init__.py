"""Measures the network: Towline, other MPI libraries over TCP, and plain sockets, between hosts that are network namespaces."""
