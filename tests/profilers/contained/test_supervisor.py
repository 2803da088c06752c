"""The supervisor's executable: built once, rebuilt when it has gone, an error without a compiler."""

import pytest

from profilers.contained.errors import CompilerMissing
from profilers.contained.supervisor import supervisor_binary

PATH = "/usr/local/bin:/usr/bin:/bin"


def test_is_built_once_and_again_when_it_has_gone():
    first = supervisor_binary(PATH)
    assert supervisor_binary("/nonexistent") == first  # no compiler is needed any more
    first.unlink()
    second = supervisor_binary(PATH)
    assert second.exists()


def test_without_a_compiler_it_says_so(tmp_path):
    supervisor_binary(PATH).unlink()
    with pytest.raises(CompilerMissing, match="no C compiler"):
        supervisor_binary(str(tmp_path))
