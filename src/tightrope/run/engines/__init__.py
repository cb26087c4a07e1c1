"""Where slices of runs are done: here, in processes of this machine, on a Dask or Ray cluster."""
