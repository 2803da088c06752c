"""The user's program, measured and tapped: which nests matter, and what they work on."""

from perfembed.capture.captured import CapturedArray, CapturedNest, CaptureFailed
from perfembed.capture.extents import Touched
from perfembed.capture.fills import RandomisedInputs, make_workload, randomise
from perfembed.capture.profile import NestProfile, ProgramProfile, profile_program
from perfembed.capture.program import ProgramFailed, ProgramRun
from perfembed.capture.record import DEFAULT_CAP_BYTES, capture_nests
from perfembed.capture.synthesize import synthesize
from perfembed.world import PROGRAM_LIMITS, World

__all__ = [
    "DEFAULT_CAP_BYTES",
    "PROGRAM_LIMITS",
    "CaptureFailed",
    "CapturedArray",
    "CapturedNest",
    "NestProfile",
    "ProgramFailed",
    "ProgramProfile",
    "ProgramRun",
    "RandomisedInputs",
    "Touched",
    "World",
    "capture_nests",
    "make_workload",
    "profile_program",
    "randomise",
    "synthesize",
]
