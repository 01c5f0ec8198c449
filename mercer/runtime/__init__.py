"""What everything runs on: arrays, threads, compiled code, parameters, the k best."""
