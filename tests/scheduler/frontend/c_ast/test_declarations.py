import pytest

from scheduler.frontend.c_ast.declarations import threadprivate


@pytest.mark.parametrize(
    "text",
    [
        "#pragma omp threadprivate(a, b)",
        "  #  pragma  omp  threadprivate ( a , b )",
        "#pragma omp threadprivate(a, \\\n   b)",
        "#pragma omp /* for all */ threadprivate(a, b) // each",
        '_Pragma("omp threadprivate(a, b)")',
        "#define S(x) #x\n#define OWN(x) _Pragma(S(omp threadprivate(x)))\nOWN(a)\nOWN( b );",
    ],
)
def test_spellings(text: str) -> None:
    assert {"a", "b"} <= threadprivate([f"double a, b;\n{text}\n".encode()])


def test_macros_of_headers() -> None:
    header = b'#define OWN _Pragma("omp threadprivate(a)")\n#define EACH(x) DO_PRAGMA(omp threadprivate(x))\n'
    assert {"a", "b"} <= threadprivate([b"int a; OWN\nint b;\nEACH(b)\n", header])


def test_comments_say_nothing() -> None:
    assert not threadprivate([b"// #pragma omp threadprivate(a)\n/* threadprivate(b) */ int a, b;\n"])
