"""Systems that run in this process: broker, workers and client on threads, or drivers over queues on the disk."""
