"""The consoles: brokers, disk queues, recordings of either; what every one is (``shell``) and when it draws."""
