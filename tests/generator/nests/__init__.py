"""Random nests, of any kind that the IR can say: what legality, code and transfer are tested on."""
