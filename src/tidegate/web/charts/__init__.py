"""The charts of the pages: what is summed, how it is drawn, and the pages that show nothing else."""
