class MemoryFrontier:
    pass
