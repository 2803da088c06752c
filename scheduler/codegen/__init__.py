"""Code generation: a scheduled nest as readable C, in place of the user's nest or as a file for measuring."""

from scheduler.codegen.emit_c import emit, schedule_comment
from scheduler.codegen.guards import runtime_condition
from scheduler.codegen.original import emit_original
from scheduler.codegen.splice import nest_text, splice
from scheduler.codegen.text import preamble
from scheduler.codegen.workload import ArgumentSpec, kernel_source, plain

__all__ = [
    "ArgumentSpec",
    "emit",
    "emit_original",
    "kernel_source",
    "nest_text",
    "plain",
    "preamble",
    "runtime_condition",
    "schedule_comment",
    "splice",
]
