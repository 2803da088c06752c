"""Which other arguments a program is tried with."""

from perfembed.fuzzing.arguments import other_arguments

READS = b"int main(int argc, char **argv) { return argc; }"
ALONE = b"int main(void) { return 0; }"


def test_numbers_are_exchanged_and_nothing_else() -> None:
    found = list(other_arguments(("grid.txt", "500", "20"), [ALONE]))
    assert all(len(arguments) == 3 and arguments[0] == "grid.txt" for arguments in found)
    assert ("grid.txt", "500", "20") not in found and len(set(found)) == len(found)
    assert ("grid.txt", "0", "20") in found and ("grid.txt", "500", "0") in found
    assert ("grid.txt", "499", "20") in found and ("grid.txt", "512", "20") in found  # a prime, a power of two
    assert any(int(arguments[1]) > 1 << 62 for arguments in found)


def test_a_program_that_takes_no_numbers_is_not_tried() -> None:
    assert not list(other_arguments(("mesh.txt", "-v"), [READS]))
    assert not list(other_arguments((), [ALONE]))


def test_one_that_was_given_none_is_tried_with_some() -> None:
    found = list(other_arguments((), [ALONE, READS]))
    assert ("100",) in found and any(len(arguments) == 2 for arguments in found)


def test_a_negative_number_and_one_in_another_base() -> None:
    found = list(other_arguments(("-7", "0x10"), [READS]))
    assert ("5", "0x10") not in found  # every number is written anew
    assert ("5", "16") in found and ("-7", "5") in found
