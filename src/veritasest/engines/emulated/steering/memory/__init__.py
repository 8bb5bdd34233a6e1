"""What device memory holds: `tracker`, with the three `state`s; the `device`'s side of it; what `collectives` wrote."""
