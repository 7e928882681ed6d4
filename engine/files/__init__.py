"""Files that others may have touched: opened only where they are regular, created only where they are new."""
