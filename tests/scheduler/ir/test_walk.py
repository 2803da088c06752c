from scheduler.ir.nest import Guard, Loop, Predicate, Statement
from scheduler.ir.text import parse_nest
from scheduler.ir.walk import (
    action_uses,
    bound_names,
    bound_reads,
    children,
    expression_names,
    loops,
    placed_statements,
    reads,
    uses,
)

NEST = parse_nest("""nest walk {
  param n: int;
  array A: double[n];
  array B: double[n][n];
  array rowptr: int[n + 1];
  array col: int[?];
  array mask: int[n];
  array s: double;
  for i: int in [0, n) step 1 {
    S0: s = i > 0 && A[i - 1] > 0.0 ? A[i] : B[i][0];
    when (mask[i] > 0) {
      for p: int in [opaque(rowptr[i]), opaque(rowptr[i + 1])) step 1 {
        S1: s += A[opaque(col[p])];
      }
    }
    if (i - 1 >= 0) {
      S2: if (s > 1.0) { B[i][opaque(col[i])] = 0.0; } else { A[i] = s; }
    }
  }
  for j: int in [max(0, n - 4), n) step 1 { S3: A[j] = A[j] * (double)j; }
}""")


def summary(found) -> list[str]:
    return [f"{u.access.array}{'!' if u.is_write else ''}{'' if u.must else '?'}" for u in found]


def test_statements_with_their_surroundings() -> None:
    placed = list(placed_statements(NEST))
    assert [p.statement.name for p in placed] == ["S0", "S1", "S2", "S3"]
    assert [[loop.name for loop in p.loops] for p in placed] == [["i"], ["i", "p"], ["i"], ["j"]]
    assert [type(a) for a in placed[1].ancestors] == [Loop, Predicate, Loop]
    assert [type(a) for a in placed[2].ancestors] == [Loop, Guard]
    assert [loop.name for loop in loops(NEST)] == ["i", "p", "j"]


def test_reads_behind_a_condition_may_happen() -> None:
    statement = next(placed_statements(NEST)).statement
    assert summary(action_uses(statement.body)) == ["A?", "A?", "B?", "s!"]


def test_uses_under_opaque_bounds_and_predicates() -> None:
    s0, s1, s2, s3 = placed_statements(NEST)
    assert summary(uses(s0)) == ["A?", "A?", "B?", "s!"]
    assert summary(uses(s1)) == ["mask", "rowptr?", "rowptr?", "col?", "A?", "s?", "s!?"]
    assert summary(uses(s2)) == ["s", "col?", "B!?", "s?", "A!?"]
    assert summary(uses(s3)) == ["A", "A!"]


def test_names_and_bounds() -> None:
    i, p, j = loops(NEST)
    assert bound_names(i) == {"n"}
    assert bound_names(p) == {"i"}
    assert bound_names(j) == {"n"}
    assert summary(bound_reads(p)) == ["rowptr", "rowptr"]
    assert summary(bound_reads(j)) == []
    body = j.body[0]
    assert isinstance(body, Statement)
    value = body.body[0].value
    assert expression_names(value) == {"j"}
    assert [len(children(c)) for c in children(value)] == [0, 1]
    assert summary(reads(value)) == ["A"]
