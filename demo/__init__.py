"""The demonstration: synthetic pictures of machined parts, the bundled model, and `make demo`."""
