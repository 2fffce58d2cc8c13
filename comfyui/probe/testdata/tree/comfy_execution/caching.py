class RAMPressureCache:
    def __init__(self):
        self.cache = {}

    def ram_release(self, target, free_active=False):
        return 0
