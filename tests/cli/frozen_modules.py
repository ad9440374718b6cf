"""Loaded last by the process that forks programs: no garbage collection of theirs looks at what was loaded before."""

from __future__ import annotations

import gc

gc.collect()
gc.freeze()
