"""Code generation: a scheduled nest as readable C, in place of the user's nest or as a file for measuring."""

from scheduler.codegen.emit.emit_c import emit, schedule_comment
from scheduler.codegen.emit.original import emit_original
from scheduler.codegen.emit.splice import nest_text, splice
from scheduler.codegen.emit.text import preamble
from scheduler.codegen.emit.workload import ArgumentSpec, kernel_source, plain
from scheduler.codegen.runtime_checks.guards import runtime_condition

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
