class ProgressBar:
    def __init__(self, total):
        self.total = total

    def update_absolute(self, value, total=None, preview=None):
        self.current = value
