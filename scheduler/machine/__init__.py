"""The machine that schedules are made for, and the register blocks of a matrix product that follow from it."""
