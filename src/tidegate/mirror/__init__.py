"""The mirror: what platforms show, read with as few calls as lose nothing, and kept."""
