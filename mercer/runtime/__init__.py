"""What all other modules build on: arrays, threads, compiled code, parameters, the k best."""
